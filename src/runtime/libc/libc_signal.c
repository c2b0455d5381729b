/* libc_signal.c - sets of signals: what the kernel reads and writes of them
 *
 * Not under their own names (libc_names.c): the runtime calls some of these itself.
 */
#include "runtime/libc/libc.h"

/* The kernel's sets; sigset_t has room for more. */
enum { SET_BYTES = 8 };

#define CHANGES_MASK(name)                                                                         \
    LIBC(int, name, (int how, const sigset_t *set, sigset_t *old), (how, set, old))                \
    {                                                                                              \
        int r;                                                                                     \
                                                                                                   \
        read_if(set, SET_BYTES, where);                                                            \
        r = CALL(name)(how, set, old);                                                             \
        if (r == 0)                                                                                \
            write_if(old, SET_BYTES, where);                                                       \
        return r;                                                                                  \
    }

CHANGES_MASK(sigprocmask)
CHANGES_MASK(pthread_sigmask)

LIBC(int, sigpending, (sigset_t * set), (set))
{
    int r = CALL(sigpending)(set);

    if (r == 0)
        write_if(set, SET_BYTES, where);
    return r;
}

/* ---- sets in memory ---- */

#define FILLS_SET(name)                                                                            \
    LIBC(int, name, (sigset_t * set), (set))                                                       \
    {                                                                                              \
        int r = CALL(name)(set);                                                                   \
                                                                                                   \
        if (r == 0)                                                                                \
            write_if(set, sizeof(*set), where);                                                    \
        return r;                                                                                  \
    }
#define CHANGES_SET(name)                                                                          \
    LIBC(int, name, (sigset_t * set, int signal), (set, signal))                                   \
    {                                                                                              \
        int r;                                                                                     \
                                                                                                   \
        read_if(set, SET_BYTES, where);                                                            \
        r = CALL(name)(set, signal);                                                               \
        if (r == 0)                                                                                \
            write_if(set, SET_BYTES, where);                                                       \
        return r;                                                                                  \
    }

FILLS_SET(sigemptyset)
FILLS_SET(sigfillset)
CHANGES_SET(sigaddset)
CHANGES_SET(sigdelset)

LIBC(int, sigismember, (const sigset_t *set, int signal), (set, signal))
{
    read_if(set, SET_BYTES, where);
    return CALL(sigismember)(set, signal);
}
