/* production_callee.c - what functions of libraries do with pointers, by their names
 *
 * For production_links.c: which functions give memory, copy it, link nodes, keep what they are
 * given or hand it to others. All other functions of the C library publish nothing; of the C++
 * library only those that are listed. A function that is not known is asked for when it is called.
 */
#include "pass/pass.h"

#include <fnmatch.h>
#include <string.h>

/* The first pattern that fits counts. */
static const struct {
    const char *pattern;
    enum callee_kind kind;
} known[] = {
    { "malloc", CALLEE_ALLOCATES },
    { "calloc", CALLEE_ALLOCATES },
    { "aligned_alloc", CALLEE_ALLOCATES },
    { "memalign", CALLEE_ALLOCATES },
    { "valloc", CALLEE_ALLOCATES },
    { "pvalloc", CALLEE_ALLOCATES },
    { "strdup", CALLEE_ALLOCATES },
    { "strndup", CALLEE_ALLOCATES },
    { "_Znw*", CALLEE_ALLOCATES },
    { "_Zna*", CALLEE_ALLOCATES },
    { "realloc", CALLEE_REALLOCATES },
    { "reallocarray", CALLEE_REALLOCATES },

    { "memcpy", CALLEE_COPIES },
    { "memmove", CALLEE_COPIES },
    { "mempcpy", CALLEE_COPIES },
    { "__memcpy_chk", CALLEE_COPIES },
    { "__memmove_chk", CALLEE_COPIES },
    { "__mempcpy_chk", CALLEE_COPIES },
    { "llvm.memcpy*", CALLEE_COPIES },
    { "llvm.memmove*", CALLEE_COPIES },

    /* libstdc++ links a node into a list or tree: a store of a pointer in disguise */
    { "_ZNSt8__detail15_List_node_base7_M_hook*", CALLEE_LINKS },
    { "_ZSt29_Rb_tree_insert_and_rebalance*", CALLEE_LINKS },

    /* the C library makes threads for these by itself, unseen by the runtime */
    { "timer_create", CALLEE_MAKES_THREADS },
    { "mq_notify", CALLEE_MAKES_THREADS },
    { "aio_*", CALLEE_MAKES_THREADS },
    { "lio_listio*", CALLEE_MAKES_THREADS },
    { "getaddrinfo_a", CALLEE_MAKES_THREADS },
    { "clone", CALLEE_MAKES_THREADS },

    /* known, and yet they keep what they are given, or another thread gets it */
    { "pthread_create", CALLEE_PUBLISHES },
    { "thrd_create", CALLEE_PUBLISHES },
    { "pthread_atfork", CALLEE_PUBLISHES },
    { "epoll_ctl", CALLEE_PUBLISHES },
    { "io_*", CALLEE_PUBLISHES },
    { "setenv", CALLEE_PUBLISHES },
    { "putenv", CALLEE_PUBLISHES },
    { "atexit", CALLEE_PUBLISHES },
    { "on_exit", CALLEE_PUBLISHES },
    { "__cxa_atexit", CALLEE_PUBLISHES },
    { "tsearch", CALLEE_PUBLISHES },
    { "lsearch", CALLEE_PUBLISHES },
    { "insque", CALLEE_PUBLISHES },
    { "hsearch*", CALLEE_PUBLISHES },
    { "setvbuf", CALLEE_PUBLISHES },
    { "setbuf*", CALLEE_PUBLISHES },
    { "open_memstream", CALLEE_PUBLISHES },
    { "open_wmemstream", CALLEE_PUBLISHES },
    { "fmemopen", CALLEE_PUBLISHES },
    { "fopencookie", CALLEE_PUBLISHES },
    { "makecontext", CALLEE_PUBLISHES },
    { "swapcontext", CALLEE_PUBLISHES },
    { "setcontext", CALLEE_PUBLISHES },
    { "sigaltstack", CALLEE_PUBLISHES },
    { "mq_send", CALLEE_PUBLISHES },
    { "msgsnd", CALLEE_PUBLISHES },
};

/* Of the C++ library: those that only use what they are given. */
static const char *const harmless_cxx[] = {
    "_ZNSt7__cxx1112basic_string*",
    "_ZNKSt7__cxx1112basic_string*",
    "_ZNSo*",
    "_ZNSi*",
    "_ZNKSo*",
    "_ZNKSi*",
    "_ZSt*",
    "_ZNSt8ios_base*",
    "_ZNSt9basic_ios*",
    "_ZNKSt9basic_ios*",
    "_ZNSt6locale*",
    "_ZNKSt6locale*",
    "_ZNSt6chrono*",
    "_ZNKSt6chrono*",
    "_ZNSt6thread4join*",
    "_ZNSt6thread6detach*",
    "_ZNSt6thread20hardware_concurrency*",
    "_ZNSt18condition_variable*",
    "_ZNSt22condition_variable_any*",
    "_ZNSt3_V2*",
    "_ZNKSt3_V2*",
    "_ZNSt9exception*",
    "_ZNKSt9exception*",
    "_ZNSt*_errorC*",
    "_ZNSt*_errorD*",
    "_ZNKSt8__detail*",
    "_ZNSt12__basic_file*",
    "_ZNSt13basic_filebuf*",
    "_ZNSt14basic_*stream*",
    "_ZNSt7__cxx11*stringstream*",
    "_ZNSt7__cxx11*stringbuf*",
    "_ZNSt11logic_error*",
    "_ZNSt13runtime_error*",
    "_ZNSt9bad_alloc*",
    "_ZNSt15basic_streambuf*",
    "_ZTh*",
    "_ZN10__cxxabiv1*",
    "_ZNSt10__num_base*",
    "_ZNKSt5ctype*",
};

static bool is_harmless(LLVMValueRef callee, const char *name)
{
    if (!starts_with(name, "_Z") || !is_system(name))
        return is_interposed(callee) || is_system(name) || strcmp(name, "free") == 0;
    for (size_t i = 0; i < sizeof harmless_cxx / sizeof *harmless_cxx; i++)
        if (fnmatch(harmless_cxx[i], name, 0) == 0)
            return true;
    return false;
}

enum callee_kind callee_kind(LLVMValueRef call)
{
    LLVMValueRef callee = direct_callee(call);
    const char *name = callee ? callee_name(call) : "";
    if (!callee || !is_only_declared(callee))
        return CALLEE_UNKNOWN;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fnmatch(known[i].pattern, name, 0) == 0)
            return known[i].kind;
    return is_harmless(callee, name) ? CALLEE_HARMLESS : CALLEE_UNKNOWN;
}
