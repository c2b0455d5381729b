/* test_symbol_sites.c - reading and checking the site tables of an object file */
#include "symbol/site_tables.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

static const char strings[] = "\0a.c\0main\0counter"; /* 1 a.c, 5 main, 10 counter */

/* A table of two sites and two frames: site 1 is inlined at frame 1, that at frame 0. */
static struct buf make_table(uint64_t id, const char *bitcode)
{
    struct sites_header h = { .magic = SITES_MAGIC,
                              .id = { id, 7 },
                              .nsites = 2,
                              .nframes = 2,
                              .string_bytes = sizeof(strings),
                              .source = 1 };
    struct sites_site sites[2] = {
        { .kind = SITE_READ, .line = 3, .column = 4, .file = 1, .function = 5, .variable = 10 },
        { .kind = SITE_WRITE, .line = 5, .file = 1, .function = 5, .inlined_at = 2 },
    };
    struct sites_frame frames[2] = { { .file = 1, .line = 20, .function = 5 },
                                     { .file = 1, .line = 21, .function = 5, .inlined_at = 1 } };
    struct buf b = { 0 };

    memcpy(h.magic, SITES_MAGIC, 8);
    buf_add(&b, &h, sizeof(h));
    buf_add(&b, sites, sizeof(sites));
    buf_add(&b, frames, sizeof(frames));
    buf_add(&b, strings, sizeof(strings));
    while (b.len % 8)
        buf_addch(&b, 0);
    h.bitcode_offset = bitcode ? b.len : 0;
    h.bitcode_bytes = bitcode ? strlen(bitcode) : 0;
    if (bitcode)
        buf_addstr(&b, bitcode);
    while (b.len % 8)
        buf_addch(&b, 0);
    h.total_bytes = b.len;
    memcpy(b.data, &h, sizeof(h));
    return b;
}

static void check_table(const struct sites_header *h)
{
    const struct sites_site *s;

    assert_non_null(h);
    assert_string_equal(sites_string(h, h->source), "a.c");
    s = sites_site(h, 0);
    assert_int_equal(s->line, 3);
    assert_string_equal(sites_string(h, s->function), "main");
    assert_string_equal(sites_string(h, s->variable), "counter");
    s = sites_site(h, 1);
    assert_int_equal(sites_frame(h, s->inlined_at - 1)->line, 21);
    assert_int_equal(sites_frame(h, sites_frame(h, s->inlined_at - 1)->inlined_at - 1)->line, 20);
}

static void tables_are_found_among_other_things(void **state)
{
    struct buf all = { 0 }, one = make_table(9, "BC bitcode"), two = make_table(3, NULL);
    struct site_tables *t;
    const uint64_t nine[2] = { 9, 7 }, three[2] = { 3, 7 }, other[2] = { 9, 8 };
    size_t bytes;

    (void)state;
    buf_add(&all, "BC\xc0\xde....", 8);
    buf_add(&all, one.data, one.len);
    buf_add(&all, "\0\0\0\0\0\0\0\0padding!", 16);
    buf_add(&all, two.data, two.len);
    buf_add(&all, "tail", 4);
    t = site_tables_parse(all.data, all.len);
    assert_int_equal(site_tables_count(t), 2);
    assert_int_equal(site_tables_damaged(t), 0);
    check_table(site_tables_find(t, nine));
    check_table(site_tables_find(t, three));
    assert_null(site_tables_find(t, other));
    assert_ptr_equal(site_tables_get(t, 0), site_tables_find(t, three));
    assert_memory_equal(sites_bitcode(site_tables_find(t, nine), &bytes), "BC bitcode", 10);
    assert_int_equal(bytes, 10);
    assert_null(sites_bitcode(site_tables_find(t, three), &bytes));
    site_tables_close(t);
    buf_release(&all);
    buf_release(&one);
    buf_release(&two);
}

static void files_have_the_folder_of_their_compilation(void **state)
{
    struct buf b = make_table(1, NULL), name = { 0 };
    struct site_tables *t = site_tables_parse(b.data, b.len);
    const struct sites_header *h = site_tables_get(t, 0);

    (void)state;
    sites_file(h, 1, &name); /* the folder is not known */
    assert_string_equal(name.data, "a.c");
    name.len = 0;
    sites_file(h, 0, &name);
    assert_int_equal(name.len, 0); /* an unknown file stays unknown */
    site_tables_close(t);
    ((struct sites_header *)(void *)b.data)->directory = 5;
    t = site_tables_parse(b.data, b.len);
    sites_file(site_tables_get(t, 0), 1, &name);
    assert_string_equal(name.data, "main/a.c");
    site_tables_close(t);
    buf_release(&name);
    buf_release(&b);
}

/* One field of one of two tables is wrong: that table goes, the other stays. */
static void check_damage(size_t offset, uint64_t value, size_t bytes)
{
    struct buf b = make_table(1, "bitcode"), good = make_table(2, NULL);
    const uint64_t two[2] = { 2, 7 };
    struct site_tables *t;

    memcpy(b.data + offset, &value, bytes);
    buf_add(&b, good.data, good.len);
    t = site_tables_parse(b.data, b.len);
    assert_int_equal(site_tables_count(t), 1);
    assert_int_equal(site_tables_damaged(t), 1);
    check_table(site_tables_find(t, two));
    site_tables_close(t);
    buf_release(&b);
    buf_release(&good);
}

#define HEADER(field)   offsetof(struct sites_header, field)
#define SITE(i, field)  (sizeof(struct sites_header) + (i) * 40 + offsetof(struct sites_site, field))
#define FRAME(i, field) (SITE(2, kind) + (i) * 24 + offsetof(struct sites_frame, field))

static void damaged_tables_are_left_out(void **state)
{
    (void)state;
    check_damage(HEADER(total_bytes), 71, 8);
    check_damage(HEADER(total_bytes), UINT64_MAX, 8);
    check_damage(HEADER(total_bytes), 1 << 20, 8);
    check_damage(HEADER(nsites), UINT32_MAX, 4);
    check_damage(HEADER(nframes), UINT32_MAX, 4);
    check_damage(HEADER(string_bytes), UINT32_MAX, 4);
    check_damage(HEADER(string_bytes), 0, 4);
    check_damage(HEADER(string_bytes), sizeof(strings) - 1, 4); /* no NUL at its end */
    check_damage(HEADER(source), sizeof(strings), 4);
    check_damage(HEADER(directory), 1000, 4);
    check_damage(HEADER(bitcode_offset), 8, 8);
    check_damage(HEADER(bitcode_offset), UINT64_MAX, 8);
    check_damage(HEADER(bitcode_bytes), UINT64_MAX, 8);
    check_damage(HEADER(bitcode_offset), 0, 8); /* but bytes */
    check_damage(SITE(0, file), 18, 4);
    check_damage(SITE(1, function), 100, 4);
    check_damage(SITE(1, variable), 100, 4);
    check_damage(SITE(1, inlined_at), 3, 4);
    check_damage(FRAME(0, file), 100, 4);
    check_damage(FRAME(1, function), 100, 4);
    check_damage(FRAME(1, inlined_at), 3, 4);
    check_damage(FRAME(1, inlined_at), 2, 4); /* itself */
    check_damage(FRAME(0, inlined_at), 2, 4); /* each other */
}

static void cut_tables_are_left_out(void **state)
{
    struct buf b = make_table(1, NULL);

    (void)state;
    for (size_t n = 0; n < b.len; n++) {
        char *copy = xmalloc(n + 1);
        struct site_tables *t;

        memcpy(copy, b.data, n);
        t = site_tables_parse(copy, n);
        assert_int_equal(site_tables_count(t), 0);
        site_tables_close(t);
        free(copy);
    }
    buf_release(&b);
}

/* ---- packed ---- */

static const char code[] = "BC code code code code code code code code code code code code";

static void add_packed(struct buf *b, uint64_t *packed, const void *data, size_t bytes, bool plain)
{
    char to[1024];
    size_t n = ZSTD_compress(to, sizeof(to), data, bytes, 3);

    *packed = plain ? bytes : n;
    buf_add(b, plain ? data : to, *packed);
}

static struct buf make_packed(uint64_t id, bool plain)
{
    struct buf table = make_table(id, NULL), b = { 0 };
    struct sites_packed p = { .id = { id, 7 },
                              .table_bytes = table.len,
                              .bitcode_bytes = sizeof(code) };

    memcpy(p.magic, SITES_PACKED_MAGIC, 8);
    buf_add(&b, &p, sizeof(p));
    add_packed(&b, &p.table_packed, table.data, table.len, plain);
    add_packed(&b, &p.bitcode_packed, code, sizeof(code), plain);
    while (b.len % 8)
        buf_addch(&b, 0);
    p.total_bytes = b.len;
    memcpy(b.data, &p, sizeof(p));
    buf_release(&table);
    return b;
}

static void packed_tables_are_unpacked(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct buf b = make_packed(9, plain);
        struct site_tables *t = site_tables_parse(b.data, b.len);
        const uint64_t nine[2] = { 9, 7 };
        const void *first;
        size_t bytes;

        assert_int_equal(site_tables_damaged(t), 0);
        check_table(site_tables_find(t, nine));
        first = sites_bitcode(site_tables_find(t, nine), &bytes);
        assert_int_equal(bytes, sizeof(code));
        assert_memory_equal(first, code, sizeof(code));
        assert_ptr_equal(sites_bitcode(site_tables_find(t, nine), &bytes), first);
        site_tables_close(t);
        buf_release(&b);
    }
}

static size_t damaged(struct buf *b)
{
    struct site_tables *t = site_tables_parse(b->data, b->len);
    size_t n = site_tables_damaged(t);

    assert_int_equal(site_tables_count(t), 0);
    site_tables_close(t);
    buf_release(b);
    return n;
}

static void damaged_packed_tables_are_left_out(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
    } wrong[] = {
        { offsetof(struct sites_packed, total_bytes), 63 },
        { offsetof(struct sites_packed, total_bytes), UINT64_MAX - 7 },
        { offsetof(struct sites_packed, id), 10 }, /* another one's table */
        { offsetof(struct sites_packed, table_bytes), 8 },
        { offsetof(struct sites_packed, table_bytes), 300 },
        { offsetof(struct sites_packed, table_bytes), UINT64_MAX },
        { offsetof(struct sites_packed, table_packed), 12 },
        { offsetof(struct sites_packed, table_packed), UINT64_MAX },
        { offsetof(struct sites_packed, bitcode_bytes), UINT64_MAX },
        { offsetof(struct sites_packed, bitcode_packed), 1 << 20 },
        { sizeof(struct sites_packed), 0 }, /* no zstd frame */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct buf b = make_packed(9, false);

        memcpy(b.data + wrong[i].offset, &wrong[i].value, 8);
        assert_int_equal(damaged(&b), 1);
    }
}

static void damaged_bitcode_is_none(void **state)
{
    struct buf b = make_packed(9, false);
    struct sites_packed *p = (struct sites_packed *)(void *)b.data;
    struct site_tables *t;
    size_t bytes;

    (void)state;
    b.data[sizeof(*p) + p->table_packed] ^= 1;
    t = site_tables_parse(b.data, b.len);
    assert_int_equal(site_tables_count(t), 1);
    assert_null(sites_bitcode(site_tables_get(t, 0), &bytes));
    site_tables_close(t);
    buf_release(&b);
}

static void an_elf_file_carries_them(void **state)
{
    char folder[] = "/tmp/heddle_sites_XXXXXX", command[512];
    struct buf b = make_table(5, "BC bitcode");
    const uint64_t five[2] = { 5, 7 };
    struct site_tables *t;
    struct error err;
    size_t bytes;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "%s/table", folder);
    f = fopen(command, "w");
    assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
    fclose(f);
    snprintf(command, sizeof(command),
             "cd %s && echo 'int main(void){return 0;}' > m.c && cc m.c -o plain && "
             "objcopy --add-section .llvmcmd=table plain full && strip full",
             folder);
    if (system(command) == 0) {
        snprintf(command, sizeof(command), "%s/full", folder);
        t = site_tables_open(command, &err);
        assert_non_null(t);
        check_table(site_tables_find(t, five));
        assert_non_null(sites_bitcode(site_tables_find(t, five), &bytes));
        site_tables_close(t);
        t = site_tables_open_small(command, &err);
        assert_non_null(t);
        check_table(site_tables_find(t, five));
        assert_null(sites_bitcode(site_tables_find(t, five), &bytes));
        site_tables_close(t);
        snprintf(command, sizeof(command), "%s/plain", folder);
        t = site_tables_open(command, &err);
        assert_non_null(t);
        assert_int_equal(site_tables_count(t), 0);
        site_tables_close(t);
    }
    snprintf(command, sizeof(command), "%s/m.c", folder);
    assert_null(site_tables_open(command, &err));
    assert_non_null(strstr(err.text, "not an ELF file"));
    assert_null(site_tables_open("/proc/nonexistent/x", &err));
    assert_string_equal(err.text, "cannot open '/proc/nonexistent/x': No such file or directory");
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_found_among_other_things),
        cmocka_unit_test(files_have_the_folder_of_their_compilation),
        cmocka_unit_test(damaged_tables_are_left_out),
        cmocka_unit_test(cut_tables_are_left_out),
        cmocka_unit_test(packed_tables_are_unpacked),
        cmocka_unit_test(damaged_packed_tables_are_left_out),
        cmocka_unit_test(damaged_bitcode_is_none),
        cmocka_unit_test(an_elf_file_carries_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
