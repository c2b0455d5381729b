/* system.c - functions whose calls are no calls of missing code
 *
 * A call of untraced code is a pair of barriers (docs/design/barriers.md), unless the function is
 * known: the runtime interposes or models it, it belongs to the C or C++ library and orders
 * nothing by itself, or its attributes rule synchronisation out. By name, since the compiler sees
 * no more: a library that defines another function of such a name is taken for the system's.
 */
#include "pass/pass.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "pass/system_list.h"

static int compare(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

static bool is_listed(const char *name)
{
    static const char *const list[] = { SYSTEM_FUNCTIONS };
    return bsearch(name, list, sizeof list / sizeof *list, sizeof *list, compare);
}

static bool matches_any(const char *name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* logf, logl, logf32x: the list has log. */
static bool is_variant(const char *name)
{
    static const char *const ends[] = { "f32x", "f64x", "f128", "f32", "f64", "f", "l" };
    char base[64];
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t e = strlen(ends[i]);
        if (n <= e + 1 || n >= sizeof base || strcmp(name + n - e, ends[i]) != 0)
            continue;
        memcpy(base, name, n - e);
        base[n - e] = 0;
        if (is_listed(base))
            return true;
    }
    return false;
}

/* Locks and futures that libc++ keeps inside the library: what its own mutexes guard there is not
 * seen, so these calls are ones of missing code. (libstdc++ has all that in its headers.) */
static bool is_hidden_lock(const char *name)
{
    static const char *const patterns[] = {
        "_ZNSt3__119__shared_mutex_base*",
        "_ZNSt3__118shared_timed_mutex*",
        "_ZNSt3__111timed_mutex*",
        "_ZNSt3__121recursive_timed_mutex*",
        "_ZNSt3__117__assoc_sub_state*",
        "_ZNSt3__17promiseIvE*",
        "_ZNSt3__16futureIvE*",
        "_ZNSt3__115__thread_struct*_at_thread_exit*",
    };
    return matches_any(name, patterns, sizeof patterns / sizeof *patterns);
}

bool is_system(const char *name)
{
    if (is_hidden_lock(name))
        return false;
    static const char *const patterns[] = {
        "__*_chk",
        "__isoc99_*",
        "__isoc23_*",
        "__errno_location",
        "__ctype_*",
        "__xstat*",
        "__lxstat*",
        "__fxstat*",
        "__assert*",
        "__stack_chk_fail",
        "__libc_*",
        "__sched_*",
        "__sysconf",
        "__xpg_*",
        "__overflow",
        "__uflow",
        "_IO_*",
        "__finite*",
        "__isinf*",
        "__isnan*",
        "__fpclassify*",
        "__signbit*",
        "__h_errno_location",
        "__*sigsetjmp*",
        /* the C++ library: namespace std, what its headers call, exceptions */
        "_ZNSt*",
        "_ZNKSt*",
        "_ZSt*",
        "_ZNS[absiod]*",
        "_ZNKS[absiod]*",
        "_ZTh*_NSt*",
        "_ZN9__gnu_cxx*",
        "_ZNK9__gnu_cxx*",
        "_ZN10__cxxabiv1*",
        "__cxa_*",
        "__dynamic_cast",
        "_Unwind_*",
        "__gxx_*",
        "__gcc_*",
        "__clang_call_terminate",
        "_ZGTt*",
        /* the compiler's own library */
        "__*ti[23]",
        "__*di[23]",
        "__*[sdtx]f[23]",
        "__float*",
        "__fix*",
        "__mul[sdtx]c3",
        "__div[sdtx]c3",
        "__cpu_indicator_init",
        "__tls_get_addr",
        "__morestack*",
        /* OpenMP: the runtime hears of what they order (runtime/openmp.c) */
        "__kmpc_*",
        "omp_*",
    };
    return is_listed(name) || matches_any(name, patterns, sizeof patterns / sizeof *patterns) ||
           is_variant(name);
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
    return matches_any(name, patterns, sizeof patterns / sizeof *patterns);
}

/* The runtime sees calls of it anyway. The list follows the runtime's INTERPOSE lines; the test
 * "everything that is interposed is known" compares them. */
bool is_interposed(LLVMValueRef function)
{
    static const char *const names[] = { "pthread_*",
                                         "sem_*",
                                         "thrd_*",
                                         "mtx_*",
                                         "cnd_*",
                                         "tss_*",
                                         "call_once",
                                         "_Zn[wa]*",
                                         "_Zd[la]*",
                                         "__cxa_*",
                                         "_Unwind_*",
                                         "__heddle_*",
                                         "__tsan_*",
                                         "Annotate*",
                                         "heddle_traced.*",
                                         "_Fork",
                                         "__longjmp_chk",
                                         "_longjmp",
                                         "_setjmp",
                                         "__sysv_signal",
                                         "_exit",
                                         "mq_*",
                                         "WTFAnnotate*",
                                         "malloc",
                                         "calloc",
                                         "realloc",
                                         "free",
                                         "aligned_alloc",
                                         "posix_memalign",
                                         "setjmp",
                                         "__sigsetjmp",
                                         "longjmp",
                                         "siglongjmp",
                                         "abort",
                                         "exit",
                                         "ompt_start_tool",
                                         "__sanitizer_unaligned_*" };
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    name += name[0] == 1;
    return matches_any(name, names, sizeof names / sizeof *names);
}

/* Attributes that rule out that another thread learns something, or is learned from. Two bits of
 * "memory" per kind of memory, the upper one says that it is written. */
bool cannot_synchronise(LLVMValueRef call)
{
    enum { WRITES = 2 | 2 << 2 | 2 << 4 };
    unsigned memory = attribute_kind("memory");
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, memory);
    LLVMValueRef callee = called_function(call);
    if (!a && callee)
        a = LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, memory);
    return call_has(call, "nosync") || (a && !(LLVMGetEnumAttributeValue(a) & WRITES));
}
