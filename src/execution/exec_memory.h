/* exec_memory.h - what each byte of memory holds, as an expression
 *
 * Two kinds of addresses. The program's own, for memory that only one thread
 * touches: a hash table of words. And PRIVATE ones, for variables whose address
 * never leaves their function, so that no record shows it: a stack per thread.
 * A byte is a node and which of its bytes; 0 is "not known".
 * Cost: 56 bytes a word of the program's, 5 a byte of a private stack.
 */
#ifndef HEDDLE_EXECUTION_EXEC_MEMORY_H
#define HEDDLE_EXECUTION_EXEC_MEMORY_H

#include "execution/expr.h"

#define PRIVATE_BIT    63
#define PRIVATE_BASE   (UINT64_C(1) << PRIVATE_BIT)
#define IS_PRIVATE(at) ((at) >> PRIVATE_BIT)

struct memory_cell {
    uint64_t word;  /* address / 8 + 1; 0: free */
    uint32_t epoch; /* what was stored in an earlier one is not known any more */
    expr node[8];
    uint8_t part[8];
};

struct memory {
    struct memory_cell *cells; /* open addressing */
    size_t ncells, count;
    uint32_t epoch;
    /* Borrowed, or NULL: what is not here is there, and stays as it is (flip.c). */
    const struct memory *below;
    bool hides; /* below MEMORY_LIMIT nothing of it is seen any more */
};
/* Above this are no addresses of the program; what is there is never forgotten at once. */
#define MEMORY_LIMIT (UINT64_C(1) << 60)

struct private_stack {
    expr *node;
    uint8_t *part;
    size_t node_cap, part_cap;
    uint64_t top; /* bytes in use */
};

void memory_release(struct memory *m); /* a zeroed struct is empty */
void private_stack_release(struct private_stack *s);
/* So many bytes more, not known; their address. */
uint64_t private_push(struct private_stack *s, uint64_t bytes);

/* `s` may be NULL where no address is private. Values have 8 * bytes bits, at most 16 bytes. */
void memory_store(struct memory *m, struct private_stack *s, struct exprs *x, uint64_t at,
                  unsigned bytes, expr value);
/* 0: some byte is not known. */
expr memory_load(const struct memory *m, const struct private_stack *s, struct exprs *x,
                 uint64_t at, unsigned bytes);
void memory_forget(struct memory *m, struct private_stack *s, uint64_t at, uint64_t bytes);
/* Byte by byte, as memmove. */
void memory_copy(struct memory *m, struct private_stack *s, uint64_t to, uint64_t from,
                 uint64_t bytes);
void memory_forget_all(struct memory *m); /* below MEMORY_LIMIT */
void memory_mark(const struct memory *m, struct exprs *x);
void private_stack_mark(const struct private_stack *s, struct exprs *x);

#endif
