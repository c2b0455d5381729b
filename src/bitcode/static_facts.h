/* static_facts.h - what static analysis needs to know of a module, in compact form
 *
 * heddle-bitcode.so reads a module's bitcode once and lists, function by function, the facts that
 * move pointers about: addresses, copies, offsets, loads, stores, calls. Everything else of the
 * code is left out, LLVM is done with before the analysis starts.
 *
 *     const struct facts_api *api = module_symbol("bitcode", "heddle_facts", &err);
 *     struct facts *f = api->read(bytes, n, &err); ... api->free(f);
 *
 * Values are numbered within a function: 0 is "nothing that can hold a pointer", then the
 * parameters, then what instructions make. A value that holds several pointers (vectors,
 * structures) is one value. Numbers of all widths and kinds are followed: what is narrower than a
 * pointer may be a part of one.
 */
#ifndef HEDDLE_BITCODE_STATIC_FACTS_H
#define HEDDLE_BITCODE_STATIC_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FACT_NONE  UINT32_MAX
#define FACT_WHOLE UINT32_MAX /* size: not known */

enum fact_op {
    FACT_ADDRESS, /* to = &symbol + offset */
    FACT_ALLOCA,  /* to = a variable of `size` bytes */
    FACT_COPY,    /* to = a */
    FACT_OFFSET,  /* to = a + offset + i * stride, for some i; span > 0: stays within that */
    FACT_LOAD,    /* to = *a, `size` bytes */
    FACT_STORE,   /* *a = b */
    FACT_UPDATE,  /* to = *a, *a = b: atomic */
    FACT_MOVE,    /* memory: *a = *b, `size` bytes */
    FACT_FILL,    /* memory: *a = bytes */
    FACT_CALL,    /* to = symbol(args) or, symbol == FACT_NONE, a(args) */
    FACT_ASM,     /* to = assembly(args) */
    FACT_RETURN,  /* a */
    FACT_VARARGS, /* *a: a list of the function's variable arguments */
    FACT_CAUGHT,  /* to = what an exception threw */
    FACT_THROWN,  /* a */
    FACT_ANY,     /* to = a pointer out of nowhere */
    FACT_REBUILT, /* a: put together from parts, may be a pointer */
    FACT_DECODED  /* a: a pointer that a run cannot be seen to store: it was in disguise */
};

enum {
    FACT_ATOMIC = 1,
    FACT_NORETURN = 2,
    FACT_BYVAL = 4,  /* of a call: some argument is */
    FACT_TWICE = 8,  /* of a call: may return again, long after (setjmp) */
    FACT_FORMAT = 16 /* of a call of printf(): what it is given may be written to (%n) */
};

struct fact {
    uint8_t op;    /* enum fact_op */
    uint8_t flags; /* FACT_ATOMIC ... */
    uint16_t nargs;
    uint32_t to, a, b;
    uint32_t index; /* of the instruction, as sites have it */
    uint32_t size;
    uint32_t stride; /* of a call: argument 3, if constant; else FACT_WHOLE */
    uint32_t symbol;
    uint32_t args; /* of a call: where they are in the function's args */
    int64_t offset;
    uint64_t span;
};

struct fact_block {
    uint32_t first; /* fact; they end where the next block's begin */
    uint32_t next;  /* successors: where they are */
    uint32_t nnext;
    bool returns; /* to the caller: not exit(), not an exception */
    bool lands;   /* exceptions get here */
};

struct fact_param {
    uint32_t value;
    uint32_t byval; /* bytes of a copy that the callee owns, 0: none */
};

struct fact_function {
    uint32_t symbol;
    uint32_t index; /* in the module, as sites have it */
    uint32_t nvalues;
    bool *narrow; /* by value: less than a pointer, so at most a part of one */
    uint32_t nparams;
    struct fact_param *params;
    bool varargs;
    struct fact *facts;
    uint32_t nfacts;
    uint32_t *args;
    struct fact_block *blocks; /* one more than there are */
    uint32_t nblocks;
    uint32_t *next;
};

enum symbol_kind { SYMBOL_VARIABLE, SYMBOL_FUNCTION, SYMBOL_ALIAS, SYMBOL_IFUNC };

struct fact_symbol {
    const char *name;
    uint8_t kind; /* enum symbol_kind */
    bool internal, weak, defined, hidden;
    bool thread_local_, constant;
    uint64_t bytes;    /* variable; 0: not known */
    uint32_t function; /* number in `functions`, FACT_NONE: not defined here */
    /* initial pointers; of an alias or ifunc the one is what it stands for */
    struct fact_pointer {
        uint64_t at;
        uint32_t symbol;
        int64_t offset;
    } *pointers;
    uint32_t npointers;
};

struct facts {
    struct fact_symbol *symbols;
    uint32_t nsymbols;
    struct fact_function *functions; /* those with a body */
    uint32_t nfunctions;
    uint32_t *constructors; /* symbols: run before main() */
    uint32_t nconstructors;
    uint32_t *destructors;
    uint32_t ndestructors;
    void *memory; /* of the module's */
};

struct facts_api {
    struct facts *(*read)(const void *bytes, size_t n, struct error *err);
    void (*free)(struct facts *f);
};

#endif
