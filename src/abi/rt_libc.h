/* rt_libc.h - what functions of the C and C++ library do
 *
 * One table for all who must know: the plugin (which calls the runtime models, which are calls of
 * untraced code, what a production build assumes), the runtime (which functions have a model), the
 * static analysis (what a call touches, where pointers go). A function stands in it once; those
 * that do the same stand together. A function that is not there is unknown: it may do anything with
 * all it can reach, start threads and order them.
 *
 * The table is rt_libc_table.h, which the includer gives a meaning by ROW and a macro for each kind
 * of name. Its rows:
 *
 *     ROW(arguments, result, does, names)
 *
 * ARGUMENTS, a letter each; how what the argument points to is used:
 *
 *     -        not at all, or it is a number
 *     r w b f  read, written, both, freed
 *     s v      read and sent to a file, pipe or socket; written with what comes from one
 *     R W B S V   the same, and what is in that leads on: two steps far (an iovec, a va_list)
 *     k K      read and kept by the kernel; written with what it kept (epoll_ctl, epoll_wait)
 *     y        written with pointers into memory of the library (getaddrinfo)
 *     c        not memory but a function, called before this one returns
 *     t g      a function that runs at any time from now on; what that function is given
 *     q        not what it points to: the value itself is sent (sigqueue)
 *
 * A '*' repeats the letter before it for all further arguments. In front of all: ? reads, ! writes
 * state that the library keeps for all threads. Behind a letter, how much:
 *
 *     $        up to a zero byte (or wide character)
 *     2        as many bytes as argument 2 says; 12: the product of arguments 1 and 2
 *     %        behind that: wide characters instead of bytes
 *     +        behind that: and a long more (the type of a message)
 *
 * and without that it is what the type says, or not known.
 *
 * RESULT: '-' a number; 0 ... a place in that argument's memory; s the library's memory; k what a
 * function that KEEPS was given; h memory from malloc(), H other fresh memory, behind them the
 * arguments whose product is the size. Several may stand together.
 *
 * DOES: what letters do not tell, see enum libc_does.
 *
 * NAMES, each with what the runtime knows of it:
 *
 *     N(name)     nothing
 *     I(name)     it interposes the function: its calls are seen anyway
 *     M(name, n)  it has a model, __heddle_NAME, for calls with n arguments
 *     V(name, n)  so it has, for n arguments and variable ones
 *     P("...")    a pattern (fnmatch) of names; names count before patterns, and the first pattern
 *                 that fits counts
 *     Q("...")    a pattern of interposed functions
 */
#ifndef HEDDLE_ABI_RT_LIBC_H
#define HEDDLE_ABI_RT_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum libc_does {
    LIBC_PLAIN,   /* no more than the letters say */
    LIBC_NUMBERS, /* the same; so do names with f, l, f32 ... behind, for other types of numbers */
    LIBC_COPY,    /* what is read to what is written (else to the result); $: as text */
    LIBC_REALLOC, /* argument 0, moved to fresh memory or not */
    LIBC_HEAP_AT, /* *argument 0 = fresh memory */
    LIBC_END,     /* *argument 1 = a place in argument 0 */
    LIBC_SCAN,    /* what is written may be pointers to fresh memory (%ms) */
    LIBC_MIX,     /* memory of the arguments may get into memory of the arguments, and the result */
    LIBC_TEXT,    /* the same, bytewise; fresh memory may get there, too: std::string */
    LIBC_REACH,   /* the same; the result is something that can be reached from the arguments */
    LIBC_LINK,    /* the same: argument 0 or 1 becomes a node of a list or tree */
    LIBC_CREATE,  /* starts a thread: t, with g */
    LIBC_CREATE_CXX, /* std::thread's */
    LIBC_JOIN,       /* *argument 1 = what the thread returned */
    LIBC_EXIT,       /* of the thread, with argument 0 */
    LIBC_KEY,        /* of thread-specific data: t is its destructor */
    LIBC_SET,        /* argument 1 to thread-specific data */
    LIBC_GET,        /* the result from there */
    LIBC_ATEXIT,     /* t is called some time, with g */
    LIBC_HANDLER,    /* t handles a signal; the result is the last one */
    LIBC_ACTION,     /* so does what is in *argument 1; *argument 2 = the last one */
    LIBC_THROW,      /* argument 0 */
    LIBC_CATCH,      /* the result is what was thrown */
    LIBC_LOOKUP,     /* the result is anything that has a name */
    LIBC_LOCK,       /* argument 0, exclusively */
    LIBC_UNLOCK,     /* argument 0 */
    LIBC_MAP,        /* the result may be memory that others have mapped, too */
    LIBC_PROTECT,    /* whoever touches argument 0 may make a signal that says so */
    LIBC_KEEPS,      /* its arguments; others (result k) may give them back, to any thread */
    LIBC_ORDERS,     /* threads, unseen by the runtime: for a recording it is untraced code */
    LIBC_USES,       /* anything with what it can reach, until it returns; it keeps nothing */
    LIBC_ANYTHING,   /* that, and keeps it; but starts no threads */
    LIBC_THREADS,    /* that, in threads of its own, which the runtime does not see */
    LIBC_OPENMP,     /* that, in threads which the runtime hears of */
    LIBC_UNKNOWN     /* as if it were not in the table: an exception to a pattern */
};

struct libc_function {
    const char *name;   /* or pattern */
    const char *args;   /* as in the table */
    const char *result; /* as in the table */
    uint8_t does;       /* enum libc_does */
    int8_t modelled;    /* number of fixed arguments; -1: it has no model */
    bool variadic;      /* of a model */
    bool interposed;
    bool pattern;
};

/* NULL: not known. */
const struct libc_function *libc_find(const char *name);
/* All of them, in alphabetical order, and behind them the patterns, in theirs. */
const struct libc_function *libc_functions(size_t *count);

/* The letter of argument i; 0: none, or '-'. */
char libc_letter(const struct libc_function *f, unsigned i);
/* How a call touches what argument i points to: 0, r, w, b, f; R, W, B: with what that leads to. */
char libc_touch(const struct libc_function *f, unsigned i);
/* How it touches state that the library keeps: 0, r, w. */
char libc_hidden(const struct libc_function *f);
/* The first argument with one of the letters; -1: none. Not those of a '*'. */
int libc_with(const struct libc_function *f, const char *letters);

/* How much of an argument's memory, or of the result: the product of two arguments (-1: there is
 * no such argument) and `unit`, and `more` bytes. */
struct libc_extent {
    int bytes, times;
    unsigned unit, more;
};
/* False: the table does not say, or it is text. */
bool libc_extent(const struct libc_function *f, unsigned i, struct libc_extent *e);
bool libc_result_extent(const struct libc_function *f, struct libc_extent *e);
bool libc_is_text(const struct libc_function *f, unsigned i);

#endif
