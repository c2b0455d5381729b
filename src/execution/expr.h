/* expr.h - values of an execution as expressions over constants and shared reads
 *
 * A graph of nodes; a value is the number of its node. Equal expressions mostly are one
 * node (equal numbers are equal values, not the other way round). Beside the expression
 * a node carries the value it had in the recorded execution, where that is known.
 *
 * Bit vectors of 1 to 128 bits; pointers are 64 bits wide, floating-point
 * numbers are their bits. Operations mean what LLVM's mean; where LLVM has
 * poison (an oversized shift, division by zero) the recorded value is unknown.
 *
 * Leaves:
 *   CONST    a number
 *   READ     what the event at `position` read, from byte `offset` on
 *   RESULT   what untraced code returned at `position`
 *   ADDRESS  of an object of the program (a variable, a function): fixed, learned
 *            from the first record that shows it
 *   UNKNOWN  fixed in the recorded execution, but the record does not say
 * OPAQUE nodes have a recorded value at most; how it follows from the operands is
 * not expressed (odd floating point, assembly). Whoever lets reads change must keep those below
 * an OPAQUE node as they were ("pinned").
 *
 * Cost: 32 bytes a node, a look at a small table to build one.
 * Concurrency: none; a graph belongs to one walker.
 */
#ifndef HEDDLE_EXECUTION_EXPR_H
#define HEDDLE_EXECUTION_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

typedef uint32_t expr; /* number of a node; 0: none */

enum { EXPR_WIDTH_MAX = 128 };

enum expr_op {
    EX_NONE,
    EX_CONST,
    EX_READ,    /* a, b: position; c: offset in bytes */
    EX_RESULT,  /* a, b: position */
    EX_ADDRESS, /* a: serial; b, c: the caller's */
    EX_UNKNOWN, /* a: which; b, c: the position up to which reads may matter to it */
    EX_OPAQUE,  /* a, b: operands; c: which operation */
    EX_ADD,
    EX_SUB,
    EX_MUL,
    EX_UDIV,
    EX_SDIV,
    EX_UREM,
    EX_SREM,
    EX_SHL,
    EX_LSHR,
    EX_ASHR,
    EX_AND,
    EX_OR,
    EX_XOR,
    EX_EQ, /* the comparisons are 1 bit wide */
    EX_NE,
    EX_ULT,
    EX_ULE,
    EX_SLT,
    EX_SLE,
    EX_ZEXT,
    EX_SEXT,
    EX_EXTRACT, /* of a, from bit b on */
    EX_CONCAT,  /* a above b */
    EX_ITE,     /* a ? b : c */
    EX_FLOAT,   /* of a and b (a twice: there is one operand); c: enum float_op */
    EX_OPS
};
extern const char *const expr_op_names[EX_OPS];

/* IEEE single and double, rounded to nearest. A result that is not a number is undefined: which one
 * it is is the processor's business. */
enum float_op {
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_DIV,
    FLOAT_REM,
    FLOAT_NEG,
    FLOAT_COMPARE, /* + LLVM's predicate, 0 to 15 */
    FLOAT_FROM_SIGNED = FLOAT_COMPARE + 16,
    FLOAT_FROM_UNSIGNED,
    FLOAT_TO_SIGNED,
    FLOAT_TO_UNSIGNED,
    FLOAT_RESIZE,
    FLOAT_ABS,
    FLOAT_MULADD, /* three operands; rounded twice */
    FLOAT_SQRT,
    FLOAT_OPS
};

enum {
    EXPR_KNOWN = 1, /* `value` is the recorded one */
    EXPR_VARIES = 2 /* a read, a result of untraced code or an unknown is below: other schedules may
                       change it */
};

struct expr_node {
    uint8_t op, width;
    uint8_t flags; /* EXPR_* */
    uint8_t mark;  /* the collector's */
    uint32_t a, b, c;
    u128 value;
};

struct exprs {
    struct expr_node *nodes; /* nodes[0] is not in use */
    size_t cap;
    uint32_t count; /* numbers given out, free ones included */
    uint32_t free;  /* list through `a` */
    uint32_t live;
    uint64_t *slots; /* recent nodes, by hash */
    uint32_t serial; /* of UNKNOWN and ADDRESS */
    uint64_t opaques;
};

void exprs_init(struct exprs *x);
void exprs_release(struct exprs *x);

/* ---- building; operands' widths must fit, as in LLVM ---- */

expr expr_const(struct exprs *x, unsigned width, u128 value);
expr expr_unknown(struct exprs *x, unsigned width);
/* Of an object; `where` and `thread` are the caller's own, with the serial number they tell objects
 * apart. */
expr expr_address(struct exprs *x, uint32_t where, uint32_t thread);
expr expr_read(struct exprs *x, unsigned width, uint64_t position, uint32_t offset);
expr expr_result(struct exprs *x, unsigned width, uint64_t position);
/* Depends on the operands (0: none) in a way that is not expressed. */
expr expr_opaque(struct exprs *x, unsigned width, unsigned operation, expr a, expr b);
expr expr_binary(struct exprs *x, enum expr_op op, expr a, expr b);            /* ADD .. SLE */
expr expr_float(struct exprs *x, unsigned op, unsigned width, expr a, expr b); /* b 0: none */
expr expr_extend(struct exprs *x, enum expr_op op, unsigned width, expr a);
expr expr_extract(struct exprs *x, expr a, unsigned low, unsigned width);
expr expr_concat(struct exprs *x, expr high, expr low);
expr expr_ite(struct exprs *x, expr condition, expr a, expr b);
/* To that width: zero-extended, cut, or as it is. */
expr expr_resize(struct exprs *x, unsigned width, expr a);

/* ---- values ---- */

static inline const struct expr_node *expr_get(const struct exprs *x, expr e)
{
    return &x->nodes[e];
}

static inline bool expr_varies(const struct exprs *x, expr e)
{
    return x->nodes[e].flags & EXPR_VARIES;
}

static inline bool expr_is_const(const struct exprs *x, expr e)
{
    return x->nodes[e].op == EX_CONST;
}

/* The recorded value; false: not known (yet). */
bool expr_value(struct exprs *x, expr e, u128 *value);
/* The record says what the value is. A leaf below learns its own where that follows. False: the
 * value was known, and is another. */
bool expr_learn(struct exprs *x, expr e, u128 value);
/* Set what a new leaf's or opaque node's value is. */
void expr_set_value(struct exprs *x, expr e, u128 value);
/* base + constant, as far as the expression shows it. */
expr expr_base(const struct exprs *x, expr e, uint64_t *offset);
/* What the operation makes of values; false: undefined there. Comparisons take operands of
 * `width` bits, the others give `width` bits. */
bool expr_compute(enum expr_op op, unsigned width, u128 a, u128 b, u128 *result);
bool expr_compute_float(unsigned op, unsigned from, unsigned width, u128 a, u128 b, u128 *result);
/* How many operands its value is computed from: none of leaves and opaque nodes. */
unsigned expr_arity(enum expr_op op);
/* The node's value from those of its one or two operands; false: undefined there. */
bool expr_apply(const struct exprs *x, const struct expr_node *n, u128 a, u128 b, u128 *result);

/* ---- memory ---- */

/* Nodes that are not marked, nor below a marked one, are freed and their numbers reused. */
void exprs_mark(struct exprs *x, expr e);
void exprs_sweep(struct exprs *x);

/* ---- printing: to `out`, at most `depth` levels ---- */
struct buf;
void expr_print(const struct exprs *x, expr e, unsigned depth, struct buf *out);

static inline u128 expr_mask(unsigned width)
{
    return width >= 128 ? ~(u128)0 : ((u128)1 << width) - 1;
}

#endif
