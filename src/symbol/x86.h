/* x86.h - machine code of x86-64, as far as one must know where instructions lead
 *
 *     struct x86 in;
 *     size_t n = x86_decode(&in, code, bytes, address);  0: not understood
 *
 * Tells the length of an instruction, where it goes, and which memory it names; not what it
 * computes. All of the integer, x87, SSE, AVX and AVX-512 sets; not AMD's XOP.
 */
#ifndef HEDDLE_SYMBOL_X86_H
#define HEDDLE_SYMBOL_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_flow {
    X86_NEXT,     /* to the next instruction */
    X86_CALL,     /* to `target`, and back */
    X86_JUMP,     /* to `target` */
    X86_BRANCH,   /* to `target` or to the next one */
    X86_CALL_FAR, /* through a register or memory: `has_memory` */
    X86_JUMP_FAR, /* so, and never back */
    X86_RETURN,   /* also a trap that nothing comes back from */
    X86_SYSCALL
};

enum { X86_NO_REGISTER = 255, X86_RSP = 4, X86_RBP = 5 };

struct x86 {
    uint8_t length;
    uint8_t map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a; VEX and EVEX likewise; 5, 6 */
    uint8_t opcode;
    enum x86_flow flow;
    uint64_t target;
    bool wide;   /* REX.W */
    bool vector; /* VEX or EVEX */
    bool lock, notrack, thread_local;
    bool has_modrm, has_memory;
    bool relative; /* the memory is at `address` exactly, from the program counter */
    uint8_t reg, base, index, scale; /* of modrm and SIB; X86_NO_REGISTER: none */
    uint8_t rm;                      /* the register that is not memory */
    uint64_t address;                /* relative */
    int64_t displacement, immediate; /* 0: none */
};

size_t x86_decode(struct x86 *in, const uint8_t *code, size_t bytes, uint64_t address);

#endif
