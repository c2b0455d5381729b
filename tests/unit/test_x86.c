/* test_x86.c - lengths, targets and memory of machine instructions */
#include "symbol/x86.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct x86 decoded(const char *bytes, size_t n)
{
    struct x86 in;

    assert_int_equal(x86_decode(&in, (const uint8_t *)bytes, n, 0x1000), n);
    assert_int_equal(in.length, n);
    return in;
}
#define CODE(bytes) decoded(bytes, sizeof(bytes) - 1)

static void lengths_are_those_of_the_manual(void **state)
{
    (void)state;
    CODE("\x90");
    CODE("\x0f\x1f\x84\x00\x00\x00\x00\x00");         /* nopl 0(%rax,%rax) */
    CODE("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"); /* movabs */
    CODE("\x66\xc7\x04\x24\x01\x00");                 /* movw $1,(%rsp) */
    CODE("\xf7\x05\x00\x00\x00\x00\x01\x00\x00\x00"); /* testl $1,0(%rip) */
    CODE("\xf7\xd8");                                 /* neg %eax */
    CODE("\xc5\xf9\x6f\x05\x00\x00\x00\x00");         /* vmovdqa 0(%rip) */
    CODE("\xc4\xe3\x7d\x39\xc1\x01");                 /* vextracti128 */
    CODE("\x62\xf1\x7c\x48\x10\x47\x01");             /* vmovups 64(%rdi),%zmm0 */
    CODE("\x66\x0f\x3a\x0f\xc1\x08");                 /* palignr */
    CODE("\xf0\x48\x0f\xb1\x0f");                     /* lock cmpxchg */
    CODE("\x66\x66\x48\xe8\x00\x00\x00\x00");         /* call, as for TLS */
}

static void direct_calls_and_jumps_have_targets(void **state)
{
    (void)state;
    assert_int_equal(CODE("\xe8\x10\x00\x00\x00").flow, X86_CALL);
    assert_int_equal(CODE("\xe8\x10\x00\x00\x00").target, 0x1015);
    assert_int_equal(CODE("\xeb\xfe").target, 0x1000);
    assert_int_equal(CODE("\x75\x02").flow, X86_BRANCH);
    assert_int_equal(CODE("\x0f\x84\xfa\xff\xff\xff").target, 0x1000);
}

static void calls_through_memory_and_registers_are_far(void **state)
{
    struct x86 in = CODE("\xff\x15\x04\x00\x00\x00");

    (void)state;
    assert_int_equal(in.flow, X86_CALL_FAR);
    assert_true(in.relative);
    assert_int_equal(in.address, 0x100a);
    assert_int_equal(CODE("\xff\xd0").flow, X86_CALL_FAR);
    assert_int_equal(CODE("\x3e\xff\xe0").flow, X86_JUMP_FAR);
    assert_true(CODE("\x3e\xff\xe0").notrack);
    assert_int_equal(CODE("\xff\x30").flow, X86_NEXT); /* push */
}

static void memory_is_named(void **state)
{
    struct x86 in = CODE("\x48\x8b\x05\x10\x00\x00\x00");

    (void)state;
    assert_true(in.relative && in.wide);
    assert_int_equal(in.address, 0x1017);
    in = CODE("\x49\x89\x44\x24\x08"); /* mov %rax,8(%r12) */
    assert_false(in.relative);
    assert_int_equal(in.base, 12);
    assert_int_equal(in.displacement, 8);
    assert_true(CODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00").thread_local);
}

static void traps_returns_and_system_calls_are_told(void **state)
{
    (void)state;
    assert_int_equal(CODE("\xc3").flow, X86_RETURN);
    assert_int_equal(CODE("\x0f\x0b").flow, X86_RETURN);
    assert_int_equal(CODE("\x0f\x05").flow, X86_SYSCALL);
    assert_int_equal(CODE("\xcd\x80").flow, X86_SYSCALL);
}

static void what_is_cut_off_or_unknown_is_refused(void **state)
{
    struct x86 in;

    (void)state;
    assert_int_equal(x86_decode(&in, (const uint8_t *)"\xe8\x00", 2, 0), 0);
    assert_int_equal(x86_decode(&in, (const uint8_t *)"\x06", 1, 0), 0);
    assert_int_equal(x86_decode(&in, (const uint8_t *)"", 0, 0), 0);
    assert_int_equal(x86_decode(&in, (const uint8_t *)"\x8f\xe8\x78\xc0\xc1\x04", 6, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_those_of_the_manual),
        cmocka_unit_test(direct_calls_and_jumps_have_targets),
        cmocka_unit_test(calls_through_memory_and_registers_are_far),
        cmocka_unit_test(memory_is_named),
        cmocka_unit_test(traps_returns_and_system_calls_are_told),
        cmocka_unit_test(what_is_cut_off_or_unknown_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
