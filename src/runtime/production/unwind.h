/* unwind.h - how to get from a function to its caller, by the unwind tables of its image
 *
 * Of x86-64's registers only the three that lead on are followed: rip, rsp and rbp. Nothing is
 * allocated, no lock is taken, and memory is read only where the loader says that an image lies;
 * reading the stack is the caller's (prod_stack.c). Tables that say more than this can follow
 * (expressions, as in some hand-written code) end the stack.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_UNWIND_H
#define HEDDLE_RUNTIME_PRODUCTION_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

enum unwind_kind {
    UNWIND_END,    /* there is no caller, or none that is known */
    UNWIND_CALLER, /* its registers are on the stack, as the rule says */
    UNWIND_SIGNAL, /* a handler returns here: rsp is the ucontext_t of what was interrupted */
};

/* The caller's rsp ("CFA") is rsp or rbp plus `cfa`, the return address right below it; its rbp is
 * the same as here, or `rbp` bytes below. */
struct unwind_rule {
    enum unwind_kind kind;
    bool from_rbp;
    uint32_t cfa;
    uint32_t rbp; /* 0: the same */
};

/* For an instruction: of a caller the call, which is before the return address. */
struct unwind_rule unwind_rule(uintptr_t pc);
/* Images came or went: what is remembered may not hold. Before the first rule is asked for, too. */
void unwind_images(void);

#endif
