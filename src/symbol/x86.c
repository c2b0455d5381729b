/* x86.c - the length of instructions, where they go, which memory they name */
#include "symbol/x86.h"

#include <string.h>

/* What follows an opcode:
 *   .  nothing            m  ModRM              x  not an instruction
 *   b  1 byte             B  ModRM, 1 byte
 *   z  2 or 4 bytes       Z  ModRM, 2 or 4 bytes
 *   j  1 byte, a distance J  4 bytes, a distance
 *   p  a prefix           others: see operands() */
static const char one_byte[] = "mmmmbzxxmmmmbzxp"  /* 00 */
                               "mmmmbzxxmmmmbzxx"  /* 10 */
                               "mmmmbzpxmmmmbzpx"  /* 20 */
                               "mmmmbzpxmmmmbzpx"  /* 30 */
                               "pppppppppppppppp"  /* 40: REX */
                               "................"  /* 50 */
                               "xxpmppppzZbB...."  /* 60; 62 is EVEX */
                               "jjjjjjjjjjjjjjjj"  /* 70 */
                               "BZxBmmmmmmmmmmmm"  /* 80 */
                               "..........x....."  /* 90 */
                               "aaaa....bz......"  /* a0 */
                               "bbbbbbbbiiiiiiii"  /* b0 */
                               "BBw.ppBZe.w..bx."  /* c0; c4, c5 are VEX */
                               "mmmmxxx.mmmmmmmm"  /* d0 */
                               "jjjjbbbbJJxj...."  /* e0 */
                               "p.pp..tT......mm"; /* f0 */

static const char two_bytes[] = "mmmmx.....x.xm.B"  /* 00 */
                                "mmmmmmmmmmmmmmmm"  /* 10 */
                                "mmmmxxxxmmmmmmmm"  /* 20 */
                                "......x.pxpxxxxx"  /* 30; 38 and 3a lead on */
                                "mmmmmmmmmmmmmmmm"  /* 40 */
                                "mmmmmmmmmmmmmmmm"  /* 50 */
                                "mmmmmmmmmmmmmmmm"  /* 60 */
                                "BBBBmmm.mmxxmmmm"  /* 70 */
                                "JJJJJJJJJJJJJJJJ"  /* 80 */
                                "mmmmmmmmmmmmmmmm"  /* 90 */
                                "...mBmxx...mBmmm"  /* a0 */
                                "mmmmmmmmmmBmmmmm"  /* b0 */
                                "mmBmBBBm........"  /* c0 */
                                "mmmmmmmmmmmmmmmm"  /* d0 */
                                "mmmmmmmmmmmmmmmm"  /* e0 */
                                "mmmmmmmmmmmmmmmm"; /* f0 */

struct cursor {
    const uint8_t *at, *end;
    bool narrow; /* 66 */
    bool failed;
    uint8_t rex; /* W R X B */
    bool repeats;
};

static uint8_t next(struct cursor *c)
{
    if (c->at == c->end) {
        c->failed = true;
        return 0;
    }
    return *c->at++;
}

static int64_t x86_number(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(c->end - c->at) < bytes) {
        c->failed = true;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    switch (bytes) {
    case 1:
        return (int8_t)value;
    case 2:
        return (int16_t)value;
    case 4:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

/* ---- ModRM ---- */

static void modrm(struct x86 *in, struct cursor *c)
{
    uint8_t byte = next(c), mode = byte >> 6, rm = byte & 7;
    bool scaled = mode != 3 && rm == 4;

    in->has_modrm = true;
    in->reg = (byte >> 3 & 7) | (c->rex & 4) << 1;
    in->rm = mode == 3 ? rm | (c->rex & 1) << 3 : X86_NO_REGISTER;
    if (mode == 3)
        return;
    in->has_memory = true;
    in->base = rm | (c->rex & 1) << 3;
    if (scaled) {
        uint8_t sib = next(c), index = (sib >> 3 & 7) | (c->rex & 2) << 2;

        in->scale = sib >> 6;
        in->index = index == 4 ? X86_NO_REGISTER : index;
        rm = sib & 7;
        in->base = rm | (c->rex & 1) << 3;
    }
    if (mode == 0 && rm == 5) {
        in->base = X86_NO_REGISTER;
        in->relative = !scaled;
        in->displacement = x86_number(c, 4);
    } else if (mode) {
        in->displacement = x86_number(c, mode == 1 ? 1 : 4);
    }
}

/* ---- operands ---- */

static void distance(struct x86 *in, struct cursor *c, unsigned bytes)
{
    in->target = (uint64_t)x86_number(c, bytes); /* of the next instruction, added later */
    in->flow = X86_BRANCH;
    if (in->map == 0 && in->opcode == 0xe8)
        in->flow = X86_CALL;
    else if (in->map == 0 && (in->opcode == 0xe9 || in->opcode == 0xeb))
        in->flow = X86_JUMP;
}

static void operands(struct x86 *in, struct cursor *c, char kind)
{
    unsigned word = c->narrow && !(c->rex & 8) ? 2 : 4;

    if (strchr("mBZtT", kind))
        modrm(in, c);
    switch (kind) {
    case 'x':
    case 'p':
        c->failed = true;
        break;
    case 'b':
    case 'B':
        in->immediate = x86_number(c, 1);
        break;
    case 'z':
    case 'Z':
        in->immediate = x86_number(c, word);
        break;
    case 'i':
        in->rm = (in->opcode & 7) | (c->rex & 1) << 3;
        in->immediate = x86_number(c, c->rex & 8 ? 8 : word);
        break;
    case 'a':
        in->displacement = x86_number(c, 8);
        break;
    case 'w':
        x86_number(c, 2);
        break;
    case 'e':
        x86_number(c, 2);
        x86_number(c, 1);
        break;
    case 't':
        in->immediate = (in->reg & 7) < 2 ? x86_number(c, 1) : 0;
        break;
    case 'T':
        in->immediate = (in->reg & 7) < 2 ? x86_number(c, word) : 0;
        break;
    case 'j':
        distance(in, c, 1);
        break;
    case 'J':
        distance(in, c, 4);
        break;
    default:
        break;
    }
}

/* ---- opcodes ---- */

static void find_flow(struct x86 *in)
{
    unsigned reg = in->reg & 7;

    if (in->map == 0) {
        if (in->opcode == 0xff && in->has_modrm && (reg == 2 || reg == 3))
            in->flow = X86_CALL_FAR;
        else if (in->opcode == 0xff && in->has_modrm && (reg == 4 || reg == 5))
            in->flow = X86_JUMP_FAR;
        else if (in->opcode == 0xc3 || in->opcode == 0xc2 || in->opcode == 0xcb ||
                 in->opcode == 0xca || in->opcode == 0xcf || in->opcode == 0xf4 ||
                 in->opcode == 0xcc)
            in->flow = X86_RETURN;
        else if (in->opcode == 0xcd)
            in->flow = X86_SYSCALL;
    } else if (in->map == 1 && !in->vector) {
        if (in->opcode == 0x05 || in->opcode == 0x34)
            in->flow = X86_SYSCALL;
        else if (in->opcode == 0x0b)
            in->flow = X86_RETURN;
    }
}

static void vex(struct x86 *in, struct cursor *c, uint8_t first)
{
    uint8_t p0 = next(c), p1 = first == 0xc5 ? p0 : next(c);

    in->vector = true;
    c->rex = p0 & 0x80 ? 0 : 4;
    in->map = 1;
    if (first == 0x62)
        next(c);
    if (first != 0xc5) {
        c->rex = (uint8_t)((~p0 >> 5 & 7) | (p1 >> 7 & 1) << 3);
        in->map = p0 & (first == 0x62 ? 7 : 31);
    }
    in->wide = c->rex & 8;
    c->narrow = false;
    in->opcode = next(c);
    if (in->map == 3)
        operands(in, c, 'B');
    else if (in->map == 1 && !(first == 0x62 && in->opcode == 0x77))
        operands(in, c, two_bytes[in->opcode] == 'J' ? 'm' : two_bytes[in->opcode]);
    else if (in->map == 2 || in->map == 5 || in->map == 6)
        operands(in, c, 'm');
    else
        c->failed = true;
}

static void legacy(struct x86 *in, struct cursor *c, uint8_t opcode)
{
    in->opcode = opcode;
    in->wide = c->rex & 8;
    if (opcode != 0x0f) {
        if (opcode == 0x8f && c->at < c->end && *c->at >> 3 & 7) /* XOP */
            c->failed = true;
        operands(in, c, one_byte[opcode]);
        return;
    }
    in->map = 1;
    in->opcode = next(c);
    if (in->opcode == 0x38 || in->opcode == 0x3a) {
        in->map = in->opcode == 0x38 ? 2 : 3;
        in->opcode = next(c);
        operands(in, c, in->map == 2 ? 'm' : 'B');
    } else if (in->opcode == 0x78 && (c->narrow || c->repeats)) { /* AMD's extrq, insertq */
        operands(in, c, 'B');
        x86_number(c, 1);
    } else {
        operands(in, c, two_bytes[in->opcode]);
    }
}

/* True: it was one. */
static bool prefix(struct x86 *in, struct cursor *c, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        c->narrow = true;
        break;
    case 0xf0:
        in->lock = true;
        break;
    case 0xf2:
    case 0xf3:
        c->repeats = true;
        break;
    case 0x64:
    case 0x65:
        in->thread_local = true;
        break;
    case 0x3e:
        in->notrack = true;
        break;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x67:
        break;
    default:
        return false;
    }
    c->rex = 0;
    return true;
}

size_t x86_decode(struct x86 *in, const uint8_t *code, size_t bytes, uint64_t address)
{
    struct cursor c = { .at = code, .end = code + (bytes < 15 ? bytes : 15) };
    uint8_t byte;

    *in = (struct x86){ .base = X86_NO_REGISTER, .index = X86_NO_REGISTER, .rm = X86_NO_REGISTER };
    for (byte = next(&c); !c.failed; byte = next(&c)) {
        if (byte >> 4 == 4)
            c.rex = byte & 15;
        else if (!prefix(in, &c, byte))
            break;
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
        vex(in, &c, byte);
    else
        legacy(in, &c, byte);
    if (c.failed)
        return 0;
    in->length = (uint8_t)(c.at - code);
    find_flow(in);
    in->target += address + in->length;
    if (in->relative)
        in->address = address + in->length + (uint64_t)in->displacement;
    return in->length;
}
