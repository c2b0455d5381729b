/* test_process.c - what a file says beyond events and names: processes, images, inlined sites */
#include "hdl_tools.h"

static void fill_process(struct process *p)
{
    p->known = true;
    for (int i = 0; i < PROCESS_NUMBERS; i++)
        p->numbers[i] = (uint64_t)1 << (4 * i);
    p->command = xstrndup("./prog -x", 9);
    process_add_note(p, "first\nnote", 10);
    process_add_note(p, "second", 6);
    process_add_thread(p, 0, 100, 0x7000, "main", 4);
    process_add_thread(p, 7, 101, 0, "", 0);
    process_add_thread(p, 9, 102, 0x9000, "io\tthread", 9);
    process_add_tls(p, 0, 64, 48);
    process_add_tls(p, 0, 80, 8);  /* told again */
    process_add_tls(p, 1, 64, 65); /* more than there is room for */
    process_add_tls(p, 3, 128, 64);
}

static void fill_image(struct tables *t, const char *path, bool traced)
{
    *tables_add_image(t) = (struct image){ .path = xstrndup(path, strlen(path)),
                                           .build_id = { 1, 0, 255 },
                                           .build_id_bytes = 3,
                                           .traced = traced,
                                           .modules = 4,
                                           .sites = 1000,
                                           .base = 0x555555554000,
                                           .low = 0x555555554000,
                                           .high = 0x555555654000 };
}

static void fill_sites(struct tables *t)
{
    fill_tables(t, 2, 2); /* 8 sites */
    tables_set_site_parent(t, 2, 1);
    tables_set_site_parent(t, 5, 2);
    tables_set_site_variable(t, 2, "struct q::head", 14);
    tables_set_site_variable(t, 3, "counter", 7);
    tables_set_site_variable(t, 5, "struct q::head", 14);
}

/* A file that has all of it, with one event. */
static void write_all(struct tables *t)
{
    static const struct event ev = { .op = OP_WRITE, .size = 4, .target = 0x100, .site = 5 };
    static const uint64_t zero;
    struct hdl_options o = { .threads = true, .stripes = true };
    struct error err = { "" };
    struct hdl_writer *w;

    fill_sites(t);
    fill_process(&t->process);
    fill_image(t, "/bin/prog", true);
    w = hdl_create(path_to("p.hdl"), t, &o, &err);
    assert_non_null(w);
    assert_int_equal(hdl_write_process(w, &err), 0); /* will be overruled */
    fill_image(t, "/lib/lib.so", false);
    t->process.numbers[PROCESS_END] = PROCESS_KILLED;
    t->process.numbers[PROCESS_STATUS] = 11;
    assert_int_equal(
        hdl_write_thread(w, 0, 0, &(struct hdl_stream){ &ev, &zero, &zero, NULL, 1 }, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
}

static void a_process_is_read_back(void **state)
{
    struct tables t = { 0 };
    struct reading r;
    const struct process *p = &r.tables.process;
    char text[64];

    (void)state;
    write_all(&t);
    reading_start(&r, path_to("p.hdl"));
    assert_string_equal(r.info.loss, "");
    assert_true(p->known);
    assert_memory_equal(p->numbers, t.process.numbers, sizeof(p->numbers));
    assert_string_equal(p->command, "./prog -x");
    assert_int_equal(p->nnotes, 2);
    assert_string_equal(p->notes[0], "first note");
    assert_string_equal(process_thread_name(p, 0), "main");
    assert_null(process_thread_name(p, 7));
    assert_string_equal(process_thread_name(p, 9), "io thread");
    assert_null(process_thread_name(p, 10));
    assert_int_equal(process_thread(p, 0)->pointer, 0x7000);
    assert_int_equal(process_thread(p, 7)->pointer, 0);
    assert_int_equal(process_thread(p, 9)->pointer, 0x9000);
    assert_int_equal(p->ntls, 2);
    assert_true(p->tls[0].image == 0 && p->tls[0].offset == 64 && p->tls[0].bytes == 48);
    assert_true(p->tls[1].image == 3 && p->tls[1].offset == 128 && p->tls[1].bytes == 64);
    assert_string_equal(process_end_text(p, text, sizeof(text)), "killed by signal 11 (SEGV)");
    assert_int_equal(r.tables.nimages, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct image *a = &t.images[i], *b = &r.tables.images[i];

        assert_string_equal(a->path, b->path);
        assert_memory_equal(a->build_id, b->build_id, sizeof(a->build_id));
        assert_true(a->traced == b->traced && a->modules == b->modules && a->sites == b->sites);
        assert_true(a->base == b->base && a->low == b->low && a->high == b->high);
    }
    reading_release(&r);
    tables_release(&t);
}

/* Reports look through the list for each race: a file that claims millions must not slow them. */
static void no_more_storage_is_kept_than_images_there_may_be(void **state)
{
    struct process p = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        process_add_tls(&p, i, 64, 8);
    assert_true(p.ntls <= 4096);
    process_release(&p);
}

static void sites_keep_parents_and_variables(void **state)
{
    struct tables t = { 0 };
    struct reading r;

    (void)state;
    write_all(&t);
    reading_start(&r, path_to("p.hdl"));
    for (uint32_t site = 0; site < t.sites.count; site++) {
        const char *want = tables_site_variable(&t, site),
                   *got = tables_site_variable(&r.tables, site);

        assert_int_equal(tables_site_parent(&t, site), tables_site_parent(&r.tables, site));
        assert_true((want == NULL) == (got == NULL));
        if (want)
            assert_string_equal(want, got);
    }
    assert_int_equal(tables_site_parent(&r.tables, 5), 2);
    assert_int_equal(tables_site_parent(&r.tables, 0), SITE_NONE);
    assert_int_equal(tables_site_parent(&r.tables, SITE_NONE), SITE_NONE);
    assert_null(tables_site_variable(&r.tables, SITE_NONE));
    reading_release(&r);
    tables_release(&t);
}

/* The first chunk of a kind, with another payload. */
static void expect_refused(unsigned kind, uint32_t count, const char *raw, size_t n)
{
    struct hdl_column_header column = { (uint32_t)n, (uint32_t)n };
    struct buf file = { 0 }, changed = { 0 };
    struct tables t = { 0 };
    struct reading r;
    char reason[64];

    write_all(&t);
    slurp(path_to("p.hdl"), &file);
    for (size_t k = 0, at; (at = chunk_offset(&file, k)) < file.len; k++) {
        struct hdl_chunk_header h = chunk_at(&file, at);

        if (h.kind != kind)
            continue;
        buf_add(&changed, file.data, at + sizeof(h));
        buf_add(&changed, &column, sizeof(column));
        buf_add(&changed, raw, n);
        buf_add(&changed, file.data + at + sizeof(h) + h.stored_bytes,
                file.len - at - sizeof(h) - h.stored_bytes);
        h.count = count;
        h.stored_bytes = (uint32_t)(sizeof(column) + n);
        h.checksum = XXH3_64bits(changed.data + at + sizeof(h), h.stored_bytes);
        put_chunk_header(&changed, at, h);
        break;
    }
    write_file(path_to("q.hdl"), changed.data, changed.len);
    reading_start(&r, path_to("q.hdl"));
    snprintf(reason, sizeof(reason), "damaged entry of a chunk of kind %u", kind);
    if (!strstr(r.info.loss, reason))
        fail_msg("kind %u: '%s'", kind, r.info.loss);
    reading_release(&r);
    tables_release(&t);
    buf_release(&file);
    buf_release(&changed);
}

static void damaged_entries_are_refused(void **state)
{
    (void)state;
    expect_refused(HDL_PROCESS, 1, "\x01\x05\x01", 3);     /* longer than the column */
    expect_refused(HDL_PROCESS, 1, "\x01\x02\x01\x01", 4); /* two numbers in one */
    expect_refused(HDL_PROCESS, 1, "\x01\x01\x01\x01", 4); /* something left over */
    expect_refused(HDL_PROCESS, 2, "\x01\x01\x01", 3);     /* one is missing */
    expect_refused(HDL_PROCESS, 1, "\x42\x01\x01", 3);     /* a thread without its number */
    expect_refused(HDL_IMAGES, 1, "\x01x\x00\x01\x01\x01\x01", 7);
    expect_refused(HDL_IMAGES, 1, "\x01x\x21", 3);     /* build id of 33 bytes */
    expect_refused(HDL_INLINED, 1, "\x02\x02", 2);     /* its own parent */
    expect_refused(HDL_INLINED, 1, "\x7f\x02", 2);     /* no such site */
    expect_refused(HDL_VARIABLES, 1, "\x02\x00", 2);   /* no name */
    expect_refused(HDL_VARIABLES, 1, "\x02\x01\n", 3); /* cannot be printed */
    expect_refused(HDL_VARIABLES, 1, "\x7f\x01x", 3);  /* no such site */
}

static void later_versions_may_know_more(void **state)
{
    static const uint8_t bytes[] = { 80, 3, 'x', 'y', 'z', 1, 1, 5 };
    struct process p = { 0 };

    (void)state;
    assert_int_equal(process_decode(&p, 2, bytes, bytes + sizeof(bytes)), 0);
    assert_int_equal(p.numbers[PROCESS_PID], 5);
    process_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_read_back),
        cmocka_unit_test(no_more_storage_is_kept_than_images_there_may_be),
        cmocka_unit_test(sites_keep_parents_and_variables),
        cmocka_unit_test(damaged_entries_are_refused),
        cmocka_unit_test(later_versions_may_know_more),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
