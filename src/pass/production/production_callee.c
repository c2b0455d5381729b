/* production_callee.c - what functions of libraries do with pointers, for production_links.c
 *
 * Which functions give memory, copy it, link nodes, keep what they are given or hand it to others:
 * as the table of abi/rt_libc.h says. A function that is not known, or may do anything, is asked
 * for when it is called.
 */
#include "pass/pass.h"

#include <string.h>

#include "abi/rt_libc.h"

static const struct libc_function *described(LLVMValueRef call)
{
    LLVMValueRef callee = direct_callee(call);
    return callee ? libc_find(callee_name(call)) : NULL;
}

/* Bytes that are moved may be pointers if their number is told; text ends at a zero, and pointers
 * have zeros among their bytes. */
static bool find_move(const struct libc_function *f, struct callee_move *m)
{
    bool copies = f->does == LIBC_COPY || f->does == LIBC_MIX;
    struct libc_extent e;
    int from = libc_with(f, copies ? "r" : "s");
    if (from < 0 || !libc_extent(f, (unsigned)from, &e))
        return false;
    *m = (struct callee_move){
        copies ? libc_with(f, "wb") : -1, from, e.bytes, e.times, (int)e.unit, (int)e.more
    };
    return true;
}

bool callee_move(LLVMValueRef call, struct callee_move *m)
{
    const struct libc_function *f = described(call);
    return f && find_move(f, m);
}

/* Pointers in the memory of one argument may get into that of another. */
static bool mixes_arguments(const struct libc_function *f)
{
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++)
        n += libc_touch(f, i) != 0;
    return n > 1;
}

/* Copies as memcpy() does. */
static bool is_plain_copy(const struct callee_move *m)
{
    return m->to == 0 && m->from == 1 && m->bytes == 2 && m->times < 0 && m->unit == 1;
}

static enum callee_kind kind_of_letters(const struct libc_function *f)
{
    struct callee_move m;
    if (f->result[0] == 'h')
        return CALLEE_ALLOCATES;
    if (find_move(f, &m))
        return is_plain_copy(&m) ? CALLEE_COPIES : CALLEE_MOVES;
    if (libc_with(f, "Sk") >= 0 || (f->does == LIBC_MIX && mixes_arguments(f)))
        return CALLEE_PUBLISHES;
    return CALLEE_HARMLESS;
}

static enum callee_kind production_callee_kind_of(const struct libc_function *f)
{
    switch ((enum libc_does)f->does) {
    case LIBC_ANYTHING:
    case LIBC_OPENMP:
    case LIBC_UNKNOWN:
        return CALLEE_UNKNOWN;
    case LIBC_THREADS:
        return CALLEE_MAKES_THREADS;
    case LIBC_KEEPS:
    case LIBC_CREATE:
    case LIBC_CREATE_CXX:
    case LIBC_ATEXIT:
        return CALLEE_PUBLISHES;
    case LIBC_REALLOC:
        return libc_letter(f, 0) == 'f' ? CALLEE_REALLOCATES : CALLEE_PUBLISHES;
    case LIBC_LINK:
        return CALLEE_LINKS;
    case LIBC_END:
        return CALLEE_STORES;
    default:
        return kind_of_letters(f);
    }
}

enum callee_kind callee_kind(LLVMValueRef call)
{
    LLVMValueRef callee = direct_callee(call);
    const char *name = callee ? callee_name(call) : "";
    if (!callee || !is_only_declared(callee))
        return CALLEE_UNKNOWN;
    if (starts_with(name, "llvm.memcpy") || starts_with(name, "llvm.memmove"))
        return CALLEE_COPIES;
    const struct libc_function *f = libc_find(name);
    return f ? production_callee_kind_of(f) : CALLEE_UNKNOWN;
}
