/* system.c - functions whose calls are no calls of untraced code
 *
 * A call of untraced code is a call pair (docs/design/calls.md), unless the function is
 * known: the runtime interposes or models it, it belongs to the C or C++ library and orders
 * nothing by itself (both: abi/rt_libc.h), or its attributes rule synchronisation out. By name,
 * since the compiler sees no more: a library that defines another function of such a name is taken
 * for the system's.
 */
#include "pass/pass.h"

#include <fnmatch.h>

#include "abi/rt_libc.h"

bool is_system(const char *name)
{
    const struct libc_function *f = libc_find(name);
    return f && f->does != LIBC_ORDERS;
}

/* What the headers of include/libstdc++ compile into the program, though libstdc++.so has it. */
bool is_copied(const char *name)
{
    static const char *const patterns[] = {
        "_ZNSt7__cxx1112basic_stringI[cw]*",
        "_ZNKSt7__cxx1112basic_stringI[cw]*",
        "_ZNSs*",
        "_ZNKSs*",
        "_ZNSbIw*",
        "_ZNKSbIw*",
        "_ZSt*_Rb_tree_increment*",
        "_ZSt*_Rb_tree_decrement*",
        "_ZSt*_Rb_tree_insert_and_rebalance*",
        "_ZSt*_Rb_tree_rebalance_for_erase*",
        "_ZNSt8__detail15_List_node_base*",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* The test "everything that is interposed is known" compares the table with the runtime. */
bool is_interposed(LLVMValueRef function)
{
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    const struct libc_function *f = libc_find(name + (name[0] == 1));
    return f && f->interposed;
}

/* Attributes that rule out that another thread learns something, or is learned from. */
bool cannot_synchronise(LLVMValueRef call)
{
    return call_has(call, "nosync") || !may_write(call);
}
