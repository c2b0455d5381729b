/* code.h - a function of the traced program in a form that can be walked fast
 *
 * Made from LLVM bitcode once per function (bitcode.c), then only this is used:
 * asking LLVM for an operand costs as much as walking a dozen instructions.
 *
 * Values live in slots. A value of a structure, array or vector type has one slot
 * per number in it ("lane"), so taking aggregates apart and putting them together
 * is copying. An operand is a slot, or with CODE_CONST a number in `consts`.
 *
 * Instructions keep their index in the function (debug intrinsics not counted):
 * that is what sites name (abi/rt_sites.h).
 *
 * Ownership: everything belongs to the struct bitcode it came from.
 */
#ifndef HEDDLE_BITCODE_CODE_H
#define HEDDLE_BITCODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CODE_CONST (UINT32_C(1) << 31)
#define CODE_NONE  UINT32_MAX

enum inst_op {
    I_UNKNOWN,     /* the result depends on the operands in a way we do not follow */
    I_COPY,        /* lane by lane */
    I_BINARY,      /* sub: enum expr_op; lanes of a, then of b */
    I_COMPARE,     /* sub: enum expr_op, CODE_SWAP: operands change places */
    I_EXTEND,      /* sub: EX_ZEXT, EX_SEXT; lane by lane, to the slot's width */
    I_TRUNCATE,    /* also pointers and integers of other widths */
    I_BITS,        /* bits of the operand's lanes, dealt out again */
    I_FLOAT,       /* sub: enum float_op; float or double */
    I_SELECT,      /* condition (1 lane or as many), lanes of a, of b */
    I_GEP,         /* base, indices; extras: offset, a factor for each index */
    I_LOAD,        /* address; extras: the lanes' offsets; sub: LLVM's order, 0: not atomic */
    I_STORE,       /* address, lanes; extras and sub: the same */
    I_ALLOCA,      /* number of elements; extras: bytes of one, alignment */
    I_COPY_MEMORY, /* to, from, bytes */
    I_FILL_MEMORY, /* to, byte, bytes */
    I_RMW,         /* sub: enum rmw_op, or more; address, operand; extras: LLVM's order */
    I_CAS,         /* address, expected, new; result: old, success; extras: the same */
    I_FENCE,
    I_INTEGER, /* sub: enum integer_op: intrinsics on integers */
    I_FORGET,  /* memory at the operand is written by something we do not follow (va_start) */
    I_CALL,    /* sub: 1 if the result is an integer or pointer; extras: number in `calls` */
    /* the last of a block: */
    I_JUMP,   /* extras: block */
    I_BRANCH, /* condition; extras: block if true, if false */
    I_SWITCH, /* value, then case values; extras: default block, case blocks */
    I_GOTO,   /* address of a block */
    I_RETURN, /* lanes */
    I_UNREACHABLE,
    I_RESUME /* an exception goes on to the caller */
};

enum { CODE_SWAP = 0x80 };

enum rmw_op { /* as LLVM numbers them */
              RMW_XCHG,
              RMW_ADD,
              RMW_SUB,
              RMW_AND,
              RMW_NAND,
              RMW_OR,
              RMW_XOR,
              RMW_MAX,
              RMW_MIN,
              RMW_UMAX,
              RMW_UMIN
};

enum integer_op {
    INT_UMIN,
    INT_UMAX,
    INT_SMIN,
    INT_SMAX,
    INT_ABS,
    INT_CTPOP,
    INT_CTLZ,
    INT_CTTZ,
    INT_BSWAP,
    INT_BITREVERSE,
    INT_FSHL,
    INT_FSHR,
    INT_UADD_SAT,
    INT_USUB_SAT,
    INT_SADD_SAT,
    INT_SSUB_SAT,
    INT_UADD_OVERFLOW, /* two lanes: result, overflow */
    INT_SADD_OVERFLOW,
    INT_USUB_OVERFLOW,
    INT_SSUB_OVERFLOW,
    INT_UMUL_OVERFLOW,
    INT_SMUL_OVERFLOW
};

struct inst {
    uint8_t op, sub;
    uint16_t lanes;   /* of the result */
    uint32_t index;   /* in the function's bitcode */
    uint32_t to;      /* first slot of the result */
    uint32_t operand; /* first of `noperands` in operands */
    uint32_t extra;   /* first in extras */
    uint32_t noperands;
    uint32_t object; /* memory: the alloca's or parameter's slot, or constant, it is in; or NONE */
};

struct code_block {
    uint32_t first; /* instruction behind its PHIs */
    uint32_t phis, nphis;
    uint32_t preds, npreds; /* in `extras`: blocks, in the order of the PHIs' operands */
};

struct code_phi {
    uint32_t to, lanes;
    uint32_t operand; /* lanes of the first predecessor, of the second ... */
};

enum const_kind {
    CONST_INT,
    CONST_ADDRESS, /* symbol + number */
    CONST_BLOCK,   /* address of a block: symbol (function), number */
    CONST_UNDEF,
    CONST_OPAQUE /* not followed */
};

struct code_const {
    uint8_t kind, width;
    uint32_t symbol;
    uint64_t low, high; /* of the number */
};

struct code_call {
    uint32_t symbol;         /* called, or NONE: by pointer, assembly */
    uint32_t callee;         /* operand */
    uint32_t normal, unwind; /* invoke: blocks; else NONE */
    bool is_asm, returns_twice;
};

struct code_param {
    uint32_t slot, lanes;
    uint64_t byval; /* bytes; 0: an ordinary one */
};

struct code {
    const char *name;
    uint32_t index; /* of the function in its module */
    bool variadic;
    uint32_t nslots;
    const uint8_t *widths; /* of the slots, in bits */
    const struct inst *insts;
    uint32_t ninsts;
    const struct code_block *blocks;
    uint32_t nblocks;
    const struct code_phi *phis;
    const uint32_t *operands;
    const int64_t *extras;
    const struct code_const *consts;
    uint32_t nconsts;
    const struct code_call *calls;
    const struct code_param *params;
    uint32_t nparams;
    const uint32_t *at_index; /* index -> instruction (the next one that is there) */
    uint32_t nindices;
};

/* A variable or function of a module. */
struct code_symbol {
    const char *name;
    uint32_t function; /* its index, or NONE: a variable */
    bool internal, thread_local_, constant, defined;
    bool own; /* a variable that only the traced code of this module can name (own.c) */
    uint64_t bytes;
};

/* What a constant variable holds: bytes, and addresses in it. */
struct code_data {
    const uint8_t *bytes;
    uint64_t count;
    const struct code_const *addresses;
    const uint64_t *places; /* of the addresses, ascending */
    uint32_t naddresses;
};

struct bitcode;

/* What heddle-bitcode.so offers, so that LLVM is only loaded when it is needed. */
struct bitcode_api {
    /* Of a module's bytes, which may go away afterwards. */
    struct bitcode *(*open)(const void *bytes, size_t n, struct error *err);
    void (*close)(struct bitcode *b);
    uint32_t (*functions)(struct bitcode *b);
    /* Of the function with that index; NULL: it is a declaration. */
    const struct code *(*code)(struct bitcode *b, uint32_t function);
    /* The name of a function that is defined there and known outside; else NULL. */
    const char *(*external)(struct bitcode *b, uint32_t function);
    const struct code_symbol *(*symbol)(struct bitcode *b, uint32_t symbol);
    /* Of the variable or function with that name, if it is defined there; else CODE_NONE. */
    uint32_t (*find)(struct bitcode *b, const char *name);
    /* NULL: it has no initialiser. */
    const struct code_data *(*data)(struct bitcode *b, uint32_t symbol);
};

extern const struct bitcode_api heddle_bitcode;

#endif
