/* test_site_quick.c - sites by number, from a file of our own making and from broken ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "cmd/site_quick.c"

#include "cmd/site_name.c"

/* ---- a file with two modules, and something else between them ---- */

struct module {
    struct sites_packed packed;
    struct sites_header header;
    struct sites_site site[3];
    char strings[8];
};

struct file {
    Elf64_Ehdr elf;
    struct module one;
    char other[16];
    struct module two;
    char names[32];
    Elf64_Shdr section[3];
};

static struct module module_of(uint64_t id)
{
    uint64_t bytes = sizeof(struct module) - sizeof(struct sites_packed);
    struct module m = { .packed = { .total_bytes = sizeof(m),
                                    .id = { id, 7 },
                                    .table_bytes = bytes,
                                    .table_packed = bytes },
                        .header = { .total_bytes = bytes,
                                    .id = { id, 7 },
                                    .nsites = 3,
                                    .string_bytes = sizeof(m.strings) } };

    memcpy(m.packed.magic, SITES_PACKED_MAGIC, sizeof(m.packed.magic));

    memcpy(m.header.magic, SITES_MAGIC, sizeof(m.header.magic));
    m.site[0].kind = SITE_WRITE;
    m.site[1].kind = SITE_ENTRY;
    m.site[2].kind = SITE_READ;
    return m;
}

static struct file file_of(uint64_t one, uint64_t two)
{
    struct file f = { .elf = { .e_type = ET_DYN,
                               .e_shoff = offsetof(struct file, section),
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 3,
                               .e_shstrndx = 1 },
                      .one = module_of(one),
                      .two = module_of(two),
                      .names = "\0" SITES_SECTION,
                      .other = "something else" };

    memcpy(f.elf.e_ident, ELFMAG, SELFMAG);
    f.elf.e_ident[EI_CLASS] = ELFCLASS64;
    f.section[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names) };
    f.section[2] =
        (Elf64_Shdr){ .sh_name = 1,
                      .sh_type = SHT_PROGBITS,
                      .sh_offset = offsetof(struct file, one),
                      .sh_size = offsetof(struct file, names) - offsetof(struct file, one) };
    return f;
}

static const char *written(const void *bytes, size_t n)
{
    static char path[] = "site_quick.tmp";
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static bool quick(const struct file *f, const char *pair, struct site_list out[2])
{
    out[0] = out[1] = (struct site_list){ 0 };
    return site_pair_quick(written(f, sizeof(*f)), pair, out);
}

static void release(struct site_list out[2])
{
    site_list_release(&out[0]);
    site_list_release(&out[1]);
}

/* ---- what is found ---- */

static void both_sites_are_found_by_their_numbers(void **state)
{
    struct file f = file_of(UINT64_C(0x1122334455667788), UINT64_C(0xaabbccdd00000000));
    struct site_list out[2];

    (void)state;
    assert_true(quick(&f, "11223344:0,aabbccdd00000000:2", out));
    assert_int_equal(out[0].count, 1);
    assert_int_equal(out[0].at[0].module[0], UINT64_C(0x1122334455667788));
    assert_int_equal(out[0].at[0].module[1], 7);
    assert_int_equal(out[0].at[0].flags, SITE_WRITE);
    assert_int_equal(out[1].at[0].index, 2);
    assert_int_equal(out[1].at[0].flags, SITE_READ);
    release(out);
    assert_true(quick(&f, "11223344:2,11223344:2", out));
    release(out);
}

static void what_is_unusual_is_left_to_others(void **state)
{
    static const char *const pairs[] = {
        "11223344:0",
        "11223344:0,x.c:12",
        "x.c:1,11223344:0",
        "11223344:1,11223344:0", /* no access */
        "11223344:3,11223344:0", /* no such site */
        "11223344:99999999999999999999,11223344:0",
        "33223344:0,11223344:0", /* no such module */
        "1122334:0,11223344:0",
        "",
        ",",
    };
    struct file f = file_of(UINT64_C(0x1122334455667788), UINT64_C(0xaabbccdd00000000));
    struct site_list out[2];

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        assert_false(quick(&f, pairs[i], out));
        assert_int_equal(out[0].count + out[1].count, 0);
    }
    assert_false(site_pair_quick("/nowhere/at/all", "11223344:0,11223344:0", out));
    assert_false(site_pair_quick("/dev/null", "11223344:0,11223344:0", out));
}

static void modules_that_begin_alike_are_left_to_others(void **state)
{
    struct file f = file_of(UINT64_C(0x1122334455667788), UINT64_C(0x1122334499999999));
    struct site_list out[2];

    (void)state;
    assert_false(quick(&f, "11223344:0,11223344:0", out));
    assert_true(quick(&f, "112233445:0,112233449:0", out));
    release(out);
    f = file_of(1, 1); /* the same module, linked twice */
    assert_true(quick(&f, "0000000000000001:0,0000000000000001:2", out));
    release(out);
}

/* Whatever the bytes are, nothing outside of them is read (the sanitizers look). */
static void broken_files_do_no_harm(void **state)
{
    struct file good = file_of(UINT64_C(0x1122334455667788), UINT64_C(0xaabbccdd00000000));
    struct site_list out[2];

    (void)state;
    srand(3);
    for (size_t n = 0; n < sizeof(good); n += 5) {
        out[0] = out[1] = (struct site_list){ 0 };
        assert_false(site_pair_quick(written(&good, n), "11223344:0,aabbccdd:2", out));
    }
    for (int i = 0; i < 3000; i++) {
        struct file f = good;

        for (int k = rand() % 4; k >= 0; k--)
            ((unsigned char *)&f)[(size_t)rand() % sizeof(f)] =
                (unsigned char)(rand() % 3 ? rand() : rand() % 2 * 255);
        if (quick(&f, "11223344:0,aabbccdd:2", out))
            release(out);
    }
    remove("site_quick.tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sites_are_found_by_their_numbers),
        cmocka_unit_test(what_is_unusual_is_left_to_others),
        cmocka_unit_test(modules_that_begin_alike_are_left_to_others),
        cmocka_unit_test(broken_files_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
