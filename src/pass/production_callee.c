/* production_callee.c - what functions of libraries do with pointers, by their names
 *
 * For production_links.c: which functions give memory, copy it, link nodes, keep what they are
 * given or hand it to others. All other functions of the C library publish nothing; of the C++
 * library only those that are listed. A function that is not known is asked for when it is called.
 */
#include "pass/pass.h"

#include <fnmatch.h>
#include <string.h>

/* Memory that is moved, or sent: pointers in it go where they cannot be followed. */
static const struct callee_move moves[] = {
    { "bcopy", 1, 0, 2, -1, 1, 0 },
    { "memccpy", 0, 1, 3, -1, 1, 0 },
    { "swab", 1, 0, 2, -1, 1, 0 },
    { "wmemcpy", 0, 1, 2, -1, 4, 0 },
    { "wmemmove", 0, 1, 2, -1, 4, 0 },
    { "wmempcpy", 0, 1, 2, -1, 4, 0 },
    { "__mempcpy", 0, 1, 2, -1, 1, 0 },
    { "__wmem*_chk", 0, 1, 2, -1, 4, 0 },
    { "strncpy", 0, 1, 2, -1, 1, 0 },
    { "stpncpy", 0, 1, 2, -1, 1, 0 },
    { "__str*ncpy_chk", 0, 1, 2, -1, 1, 0 },
    { "__atomic_store", 1, 2, 0, -1, 1, 0 },
    { "__atomic_exchange", 1, 2, 0, -1, 1, 0 },
    { "__atomic_compare_exchange", 1, 3, 0, -1, 1, 0 },
    { "write", -1, 1, 2, -1, 1, 0 },
    { "pwrite", -1, 1, 2, -1, 1, 0 },
    { "pwrite64", -1, 1, 2, -1, 1, 0 },
    { "send", -1, 1, 2, -1, 1, 0 },
    { "sendto", -1, 1, 2, -1, 1, 0 },
    { "mq_send", -1, 1, 2, -1, 1, 0 },
    { "mq_timedsend", -1, 1, 2, -1, 1, 0 },
    { "msgsnd", -1, 1, 2, -1, 1, 8 },
    { "fwrite", -1, 0, 1, 2, 1, 0 },
    { "fwrite_unlocked", -1, 0, 1, 2, 1, 0 },
};

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
    { "syscall", CALLEE_PUBLISHES }, /* io_uring_enter ... */

    /* known, and yet they keep what they are given, or another thread gets it */
    { "pthread_create", CALLEE_PUBLISHES },
    { "thrd_create", CALLEE_PUBLISHES },
    { "pthread_atfork", CALLEE_PUBLISHES },
    { "epoll_ctl", CALLEE_PUBLISHES },
    { "io_*", CALLEE_PUBLISHES },
    { "sigqueue", CALLEE_PUBLISHES },
    { "pthread_sigqueue", CALLEE_PUBLISHES },
    { "ioctl", CALLEE_PUBLISHES },
    { "prctl", CALLEE_PUBLISHES },
    { "fcntl*", CALLEE_PUBLISHES },
    { "writev", CALLEE_PUBLISHES },
    { "pwritev*", CALLEE_PUBLISHES },
    { "sendmsg", CALLEE_PUBLISHES },
    { "sendmmsg", CALLEE_PUBLISHES },
    { "vmsplice", CALLEE_PUBLISHES },
    { "process_vm_writev", CALLEE_PUBLISHES },
    { "initstate*", CALLEE_PUBLISHES },
    { "setstate*", CALLEE_PUBLISHES },
    { "pthread_attr_setstack*", CALLEE_PUBLISHES },
    { "dlinfo", CALLEE_PUBLISHES },
    { "register_printf_*", CALLEE_PUBLISHES },
    { "argz_*", CALLEE_PUBLISHES },
    { "envz_*", CALLEE_PUBLISHES },
    { "obstack_*", CALLEE_PUBLISHES },
    { "sigstack", CALLEE_PUBLISHES },
    { "pkey_*", CALLEE_PUBLISHES },
    { "mremap", CALLEE_PUBLISHES },
    /* of the C++ library: locales keep facets, streams their buffers and locales */
    { "_ZNSt6locale*", CALLEE_PUBLISHES },
    { "_ZNSt8ios_base4Init*", CALLEE_HARMLESS },
    { "_ZNSt8ios_base*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*4initE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*5rdbufE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*3tieE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*5imbueE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*4moveE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_ios*4swapE*", CALLEE_PUBLISHES },
    { "_ZNSt9basic_iosI*C[12]E*", CALLEE_PUBLISHES },
    { "_ZNS[oi]C[12]E*", CALLEE_PUBLISHES },
    { "_ZNSt*6setbufE*", CALLEE_PUBLISHES },
    { "_ZNSt*swapE*", CALLEE_PUBLISHES },
    { "_ZNSt15basic_streambuf*imbue*", CALLEE_PUBLISHES },
    { "_ZSt*set_new_handler*", CALLEE_PUBLISHES },
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
    "_ZNSt9basic_ios*",
    "_ZNKSt9basic_ios*",
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

const struct callee_move *callee_move(LLVMValueRef call)
{
    const char *name = direct_callee(call) ? callee_name(call) : "";
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (fnmatch(moves[i].pattern, name, 0) == 0)
            return &moves[i];
    return NULL;
}

enum callee_kind callee_kind(LLVMValueRef call)
{
    LLVMValueRef callee = direct_callee(call);
    const char *name = callee ? callee_name(call) : "";
    if (!callee || !is_only_declared(callee))
        return CALLEE_UNKNOWN;
    if (callee_move(call))
        return CALLEE_MOVES;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fnmatch(known[i].pattern, name, 0) == 0)
            return known[i].kind;
    return is_harmless(callee, name) ? CALLEE_HARMLESS : CALLEE_UNKNOWN;
}
