/* machine_code.c - reading the code of functions: what they call, name and do (machine.h)
 *
 * Code is decoded from the start of each function to that of the next; nothing is computed but
 * constants in two registers in front of a system call. Whatever an instruction names counts as
 * used in any way. A folded index (`a[i - 1]` by way of `lea -8+a(%rip)`) names the bytes in front
 * of a variable, so a variable that begins shortly behind an address counts as well.
 */
#include "symbol/machine_inside.h"
#include "base/alloc.h"
#include "abi/rt_effects.h"
#include "symbol/x86.h"

#include <stdlib.h>
#include <string.h>

enum {
    FOLDED_BYTES = 64, /* constant part of an index that a compiler folds into an address */
    TABLES_DEEP = 4,   /* constant tables that lead to constant tables */
    RAX = 0,
    RCX = 1,
    RDX = 2,
    RSI = 6,
    RDI = 7,
    WATCHED = 2,
    ODD_SLOTS = 8,
    ODD_JUMPS = 16,
    LOOP_BYTES = 256 /* of a loop that waits for something */
};

struct reader {
    struct machine *m;
    struct machine_function *f;
    uint8_t *targets; /* a bit per byte of the section: is jumped to */
    const struct machine_section *section;
    int64_t constants[WATCHED]; /* of RAX and RDI; -1: not known */
    bool framed;                /* RBP is a frame pointer */
    bool added;                 /* the last instruction was an addition of registers, to: */
    uint8_t added_to;
    enum x86_flow last; /* of the last instruction that does something */
    const char *
        *unmaskers; /* names of functions that return such values, from the first round on */
    size_t nunmaskers;
    uint32_t odd; /* registers whose value comes of bits put together: a bit each */
    struct {
        uint64_t target;
        uint32_t odd; /* where it is jumped from; 0: free */
    } jumps[ODD_JUMPS];
    int64_t odd_slots[ODD_SLOTS]; /* where such values are on the stack, by displacement; 0: none */
};

/* ---- what is found ---- */

static void add_call(struct reader *r, struct machine_call c)
{
    struct machine *m = r->m;

    GROW(m->calls, m->calls_cap, m->ncalls + 1);
    m->calls[m->ncalls++] = c;
    r->f->ncalls++;
}

static void add_ref(struct reader *r, struct machine_call c)
{
    struct machine *m = r->m;

    if (r->f->nrefs && m->refs[m->nrefs - 1].address == c.address &&
        m->refs[m->nrefs - 1].symbol == c.symbol)
        return;
    GROW(m->refs, m->refs_cap, m->nrefs + 1);
    m->refs[m->nrefs++] = c;
    r->f->nrefs++;
}

static void add_taken(struct machine *m, struct machine_call c)
{
    GROW(m->taken, m->taken_cap, m->ntaken + 1);
    m->taken[m->ntaken++] = c;
}

/* ---- data ---- */

static void name_variable(struct reader *r, uint64_t address)
{
    size_t piece = machine_piece_at(r->m, address);
    const struct machine_piece *p = &r->m->pieces[piece];

    if (piece == r->m->npieces)
        return;
    add_ref(r, (struct machine_call){ .address = p->low });
    if (address != p->low && p->high - address <= FOLDED_BYTES && piece + 1 < r->m->npieces &&
        p[1].low == p->high)
        add_ref(r, (struct machine_call){ .address = p[1].low });
}

static void name_address(struct reader *r, uint64_t address, unsigned depth);

static void name_word(struct reader *r, const struct machine_reloc *w, unsigned depth)
{
    if (w->local)
        r->f->does |= MACHINE_LOCAL;
    else if (w->symbol)
        add_ref(r, (struct machine_call){ .symbol = w->symbol });
    else if (!w->chosen)
        name_address(r, w->value, depth);
}

/* At a fixed address the linker has filled the words in. */
static void name_fixed(struct reader *r, const struct machine_section *s, uint64_t at,
                       unsigned depth)
{
    const struct machine_section *to;
    uint64_t word = 0;

    if (s->bytes)
        memcpy(&word, s->bytes + (at - s->low), sizeof(word));
    to = machine_section_at(r->m, word);
    if (to && (to->kind == SECTION_VARIABLE || to->kind == SECTION_CONSTANT))
        name_address(r, word, depth);
}

/* A constant table: from the address to the next variable, or the end. */
static void name_table(struct reader *r, const struct machine_section *s, uint64_t address,
                       unsigned depth)
{
    const struct machine_file *f = r->m->file;
    uint64_t end = s->high;
    size_t at = 0, n = f->nvariables;
    uint32_t number = (uint32_t)(r->f - r->m->functions) + 1;

    while (at < n) {
        size_t middle = at + (n - at) / 2;

        if (f->variables[middle] <= address)
            at = middle + 1;
        else
            n = middle;
    }
    if (r->m->named && at < f->nvariables && f->variables[at] < end)
        end = f->variables[at];
    address = at && f->variables[at - 1] >= s->low ? f->variables[at - 1] : s->low;
    for (uint64_t word = (address + 7) & ~UINT64_C(7); f->fixed && word + 8 <= end; word += 8)
        name_fixed(r, s, word, depth + 1);
    for (size_t i = machine_reloc_from(r->m, address); i < f->nrelocs && f->relocs[i].at < end; i++)
        if (f->relocs[i].seen != number) { /* tables lead to tables */
            f->relocs[i].seen = number;
            name_word(r, &f->relocs[i], depth + 1);
        }
}

static void name_address(struct reader *r, uint64_t address, unsigned depth)
{
    const struct machine_section *s = machine_section_at(r->m, address);

    if (!s) /* the end of the last variable of a section */
        s = machine_section_at(r->m, address - 1);
    if (!s)
        return;
    if (s->kind == SECTION_VARIABLE)
        name_variable(r, address);
    else if (s->kind == SECTION_CONSTANT && depth < TABLES_DEEP)
        name_table(r, s, address, depth);
    else if (s->kind == SECTION_CODE)
        add_taken(r->m, (struct machine_call){ .address = address });
}

/* ---- stubs ---- */

/* A word that the loader has filled in for good. */
static const struct machine_reloc *constant_word(const struct machine *m, uint64_t address)
{
    const struct machine_section *s = machine_section_at(m, address);
    size_t i = machine_reloc_from(m, address);

    return s && s->kind == SECTION_CONSTANT && i < m->file->nrelocs &&
                   m->file->relocs[i].at == address
               ? &m->file->relocs[i]
               : NULL;
}

static void call_word(struct reader *r, const struct machine_reloc *w, bool harmless)
{
    if (!w || w->local)
        r->f->does |= MACHINE_POINTER;
    else if (w->chosen) /* the function that chooses tells which ones there are */
        r->f->does |= MACHINE_POINTER;
    else
        add_call(r, (struct machine_call){ w->value, w->symbol, harmless, w->weak });
    if (w && w->symbol && strcmp(w->symbol, "syscall") == 0 && effects_is_clone(r->constants[1]))
        r->f->does |= MACHINE_CLONES;
}

/* A stub of the linker's: jumps through a word, after an instruction or two. */
static const struct machine_reloc *behind_stub(const struct machine *m, uint64_t address)
{
    const struct machine_section *s = machine_section_at(m, address);

    for (int i = 0; s && s->kind == SECTION_STUBS && s->bytes && i < 3 && address < s->high; i++) {
        struct x86 in;
        size_t n = x86_decode(&in, s->bytes + (address - s->low), s->high - address, address);

        if (!n)
            return NULL;
        if (in.flow == X86_JUMP_FAR)
            return in.relative ? constant_word(m, in.address) : NULL;
        address += n;
    }
    return NULL;
}

/* ---- instructions ---- */

static bool is_label(const struct reader *r, uint64_t address)
{
    uint64_t at = address - r->section->low;

    return r->f->does & MACHINE_SWITCHES || r->targets[at / 8] >> at % 8 & 1;
}

static void call_to(struct reader *r, uint64_t target)
{
    const struct machine_section *s = machine_section_at(r->m, target);
    bool harmless = effects_is_harmless(r->constants[1]);

    if (s && s->kind == SECTION_STUBS)
        call_word(r, behind_stub(r->m, target), harmless);
    else if (s && (s->kind == SECTION_CODE || s->kind == SECTION_RUNTIME))
        add_call(r, (struct machine_call){ .address = target, .harmless = harmless });
    else
        r->f->does |= MACHINE_UNKNOWN;
}

/* A switch computes the address that it jumps to, or takes it from a table of constants. */
static bool is_switch(const struct reader *r, const struct x86 *in)
{
    if (in->notrack || (!in->has_memory && r->added && r->added_to == in->rm))
        return true;
    return in->has_memory && !in->relative && in->base == X86_NO_REGISTER && in->scale == 3;
}

static void follow(struct reader *r, const struct x86 *in)
{
    switch (in->flow) {
    case X86_CALL:
        call_to(r, in->target);
        break;
    case X86_JUMP:
    case X86_BRANCH:
        if (in->target < r->f->start || in->target >= r->f->end)
            call_to(r, in->target);
        break;
    case X86_CALL_FAR:
    case X86_JUMP_FAR:
        if (in->relative && constant_word(r->m, in->address))
            call_word(r, constant_word(r->m, in->address), effects_is_harmless(r->constants[1]));
        else if (in->flow == X86_CALL_FAR || !is_switch(r, in))
            r->f->does |= MACHINE_POINTER;
        break;
    case X86_SYSCALL:
        if (!effects_is_harmless(r->constants[0]))
            r->f->does |= MACHINE_KERNEL;
        if (effects_is_clone(r->constants[0]))
            r->f->does |= MACHINE_CLONES;
        break;
    default:
        break;
    }
}

static bool loads_word(const struct x86 *in)
{
    return in->map == 0 && !in->vector && in->wide &&
           (in->opcode == 0x8b || in->opcode == 0x3b || in->opcode == 0x39 || in->opcode == 0x83);
}

static void name_memory(struct reader *r, const struct x86 *in)
{
    enum { CANARY = 0x28 };
    bool far = in->flow == X86_CALL_FAR || in->flow == X86_JUMP_FAR;
    const struct machine_reloc *w;

    if (in->thread_local && in->has_memory &&
        !(in->base == X86_NO_REGISTER && in->index == X86_NO_REGISTER && !in->relative &&
          in->displacement == CANARY))
        r->f->does |= MACHINE_LOCAL;
    if (in->relative) {
        w = far || loads_word(in) ? constant_word(r->m, in->address) : NULL;
        if (w && !far)
            name_word(r, w, 0);
        else if (!w)
            name_address(r, in->address, 0);
    } else if (r->m->file->fixed) {
        if (in->has_memory && in->displacement > 0)
            name_address(r, (uint64_t)in->displacement, 0);
        if (in->immediate > 0)
            name_address(r, (uint64_t)in->immediate, 0);
    }
}

/* ---- what may be stored ---- */

static bool is_on_stack(const struct reader *r, const struct x86 *in)
{
    return in->base == X86_RSP || (in->base == X86_RBP && r->framed);
}

/* Eight bytes or more that are not a constant. */
static bool stores_word(const struct x86 *in)
{
    static const uint8_t vectors[] = { 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7e, 0x7f, 0xd6, 0xe7 };

    if (in->map == 0)
        return in->wide && (in->opcode == 0x89 || in->opcode == 0x87);
    if (in->map == 1 && !in->vector && (in->opcode == 0xb1 || in->opcode == 0xc7))
        return in->wide;
    return in->map == 1 && memchr(vectors, in->opcode, sizeof(vectors));
}

static void note_stores(struct reader *r, const struct x86 *in)
{
    bool moves = in->map == 0 && !in->vector && (in->opcode == 0xa4 || in->opcode == 0xa5);

    if (moves || (in->has_memory && !in->relative && !in->thread_local && !is_on_stack(r, in) &&
                  stores_word(in)))
        r->f->does |= MACHINE_STORES;
    if (in->map == 0 && in->rm != X86_NO_REGISTER &&
        ((in->opcode == 0x89 && in->reg == X86_RSP && in->rm == X86_RBP) ||
         (in->opcode == 0x8b && in->reg == X86_RBP && in->rm == X86_RSP)))
        r->framed = true;
}

/* ---- constants ---- */

static void set_constant(struct reader *r, uint8_t reg, int64_t value)
{
    if (reg == RAX)
        r->constants[0] = value;
    else if (reg == RDI)
        r->constants[1] = value;
}

static void forget_constants(struct reader *r)
{
    for (int i = 0; i < WATCHED; i++)
        r->constants[i] = -1;
}

static void note_constants(struct reader *r, const struct x86 *in)
{
    bool plain = in->map == 0 && !in->vector && in->flow == X86_NEXT;

    r->added = plain && in->rm != X86_NO_REGISTER && (in->opcode == 0x01 || in->opcode == 0x03);
    r->added_to = in->opcode == 0x01 ? in->rm : in->reg;
    if (plain && in->opcode >= 0xb8 && in->opcode <= 0xbf)
        set_constant(r, in->rm, in->immediate);
    else if (plain && in->opcode == 0xc7 && in->rm != X86_NO_REGISTER)
        set_constant(r, in->rm, in->immediate);
    else if (plain && (in->opcode == 0x31 || in->opcode == 0x33) && in->rm == in->reg)
        set_constant(r, in->rm, 0);
    else if (plain && (in->opcode == 0x89 || in->opcode == 0xc7))
        set_constant(r, in->rm, -1);
    else if (plain && (in->opcode == 0x8b || in->opcode == 0x8d || in->opcode == 0x63))
        set_constant(r, in->reg, -1);
    else
        forget_constants(r);
}

/* ---- disguised pointers ---- */

/* A handle that is a pointer with other bits mixed in (xor, rotations, masks of more than the
 * low bits) leads nowhere that the runtime could see. Values made by such operations are followed
 * through registers and slots of the stack, from one instruction to the next; whoever uses one as
 * the base of an address, or gives it to another function of the image or of pthreads as its first
 * argument, uses disguised pointers. An index is no base: where something is added to a value that
 * is not odd, or the address has a scaled index, the other one is. Jumps are followed
 * forwards. Functions that return such values are known where the code of their callers is read
 * again (spread_unmasked). */

static bool is_odd(const struct reader *r, uint8_t reg)
{
    return reg < 16 && r->odd >> reg & 1;
}

static bool is_of_threads(const char *symbol)
{
    return strncmp(symbol, "pthread_", 8) == 0 || strncmp(symbol, "sem_", 4) == 0;
}

static void set_odd(struct reader *r, uint8_t reg, bool odd)
{
    if (reg < 16)
        r->odd = (r->odd & ~(1u << reg)) | (uint32_t)odd << reg;
}

static bool is_slot(const struct reader *r, const struct x86 *in)
{
    return in->has_memory && in->index == X86_NO_REGISTER && in->displacement && is_on_stack(r, in);
}

static bool slot_is_odd(const struct reader *r, const struct x86 *in)
{
    for (int i = 0; is_slot(r, in) && i < ODD_SLOTS; i++)
        if (r->odd_slots[i] == in->displacement)
            return true;
    return false;
}

static void set_slot(struct reader *r, const struct x86 *in, bool odd)
{
    int64_t *empty = NULL;

    for (int i = 0; i < ODD_SLOTS; i++) {
        if (r->odd_slots[i] == in->displacement)
            r->odd_slots[i] = 0;
        if (!r->odd_slots[i])
            empty = &r->odd_slots[i];
    }
    if (odd && empty)
        *empty = in->displacement;
}

/* As the base of an address. */
static bool uses_odd(const struct reader *r, const struct x86 *in)
{
    bool is_address = in->map == 0 && !in->vector && in->opcode == 0x8d;
    bool is_nop = in->map == 1 && !in->vector && (in->opcode == 0x1f || in->opcode == 0x1e);

    if (!in->has_memory || in->relative || is_address || is_nop || in->thread_local ||
        !is_odd(r, in->base))
        return false;
    if (r->m->file->fixed && in->displacement > 0 &&
        machine_section_at(r->m, (uint64_t)in->displacement))
        return false; /* that is the base */
    return in->index == X86_NO_REGISTER || in->scale;
}

/* What a load, a move or an addition leaves in its register. */
static void move_odd(struct reader *r, const struct x86 *in)
{
    bool from_memory = in->has_memory && in->rm == X86_NO_REGISTER;
    bool source = from_memory ? slot_is_odd(r, in) : is_odd(r, in->rm);

    switch (in->opcode) {
    case 0x8b:
        set_odd(r, in->reg, in->wide && source);
        break;
    case 0x89:
        if (!from_memory)
            set_odd(r, in->rm, in->wide && is_odd(r, in->reg));
        else if (is_slot(r, in))
            set_slot(r, in, in->wide && is_odd(r, in->reg));
        break;
    case 0x03:
        set_odd(r, in->reg, in->wide && is_odd(r, in->reg) && source);
        break;
    case 0x01:
        if (!from_memory)
            set_odd(r, in->rm, in->wide && is_odd(r, in->rm) && is_odd(r, in->reg));
        break;
    default: /* lea */
        set_odd(r, in->reg,
                in->wide && is_odd(r, in->base) &&
                    (in->index == X86_NO_REGISTER || is_odd(r, in->index)));
        break;
    }
}

/* xor, or, and: of two values. */
static void mix_odd(struct reader *r, const struct x86 *in)
{
    bool to_reg = in->opcode & 2;
    bool same = in->rm == in->reg;

    if (to_reg)
        set_odd(r, in->reg, in->wide && !same);
    else if (in->rm != X86_NO_REGISTER)
        set_odd(r, in->rm, in->wide && !same);
}

/* Groups: the middle bits of modrm, which are `reg` without its high bit, say what is done. */
static void group_odd(struct reader *r, const struct x86 *in)
{
    unsigned does = in->reg & 7;

    switch (in->opcode) {
    case 0x81:
    case 0x83:
        if (does == 1 || does == 6)
            set_odd(r, in->rm, in->wide);
        else if (does != 7 && !in->wide)
            set_odd(r, in->rm, false);
        break;
    case 0xf7:
        if (does == 2)
            set_odd(r, in->rm, in->wide);
        else if (does >= 4) /* mul, div */
            r->odd &= ~(1u << RAX | 1u << RDX);
        break;
    default: /* shifts make indices and lengths; rotations do not */
        if (does < 2)
            set_odd(r, in->rm, in->wide);
        break;
    }
}

/* push, pop, and what is added to the stack pointer: slots have other displacements then. */
static bool moves_stack(const struct x86 *in)
{
    return (in->opcode >= 0x50 && in->opcode <= 0x5f) ||
           ((in->opcode == 0x81 || in->opcode == 0x83) && in->rm == X86_RSP);
}

/* The name that a call goes by; NULL: none. */
static const char *called_name(const struct reader *r, const struct x86 *in)
{
    const struct machine_reloc *w;

    if (in->flow == X86_CALL_FAR || in->flow == X86_JUMP_FAR)
        w = in->relative ? constant_word(r->m, in->address) : NULL;
    else
        w = behind_stub(r->m, in->target);
    return w ? w->symbol : NULL;
}

static bool is_unmasker(const struct reader *r, const char *name)
{
    for (size_t i = 0; name && i < r->nunmaskers; i++)
        if (strcmp(r->unmaskers[i], name) == 0)
            return true;
    return false;
}

/* Of a call, or a jump out of the function: does what is called return such a value? And its first
 * argument may be one. */
static bool call_odd(struct reader *r, const struct x86 *in)
{
    bool direct = in->flow == X86_CALL || in->flow == X86_JUMP || in->flow == X86_BRANCH;
    const struct machine_section *s = direct ? machine_section_at(r->m, in->target) : NULL;
    const struct machine_function *f = s ? machine_function_at(r->m, in->target) : NULL;
    const char *name = is_odd(r, RDI) || r->nunmaskers ? called_name(r, in) : NULL;

    if (is_odd(r, RDI) && ((f && s->kind == SECTION_CODE) || (name && is_of_threads(name))))
        r->f->does |= MACHINE_DISGUISES;
    return (f && f->does & MACHINE_UNMASKS) || is_unmasker(r, name);
}

static void leave_odd(struct reader *r, bool unmasked)
{
    static const uint32_t lost = 1u << RAX | 1u << RCX | 1u << RDX | 1u << RSI | 1u << RDI | 0xf00;

    r->odd = (r->odd & ~lost) | (uint32_t)unmasked << RAX;
}

static bool leaves(const struct reader *r, const struct x86 *in)
{
    return in->flow == X86_JUMP_FAR || ((in->flow == X86_JUMP || in->flow == X86_BRANCH) &&
                                        (in->target < r->f->start || in->target >= r->f->end));
}

/* To the instruction that is jumped to, if it comes later. */
static void hand_on_odd(struct reader *r, uint64_t target)
{
    for (int i = 0; r->odd && i < ODD_JUMPS; i++)
        if (r->jumps[i].odd == 0 || r->jumps[i].target == target) {
            r->jumps[i].target = target;
            r->jumps[i].odd |= r->odd;
            return;
        }
}

static void take_odd(struct reader *r, uint64_t address)
{
    for (int i = 0; i < ODD_JUMPS; i++)
        if (r->jumps[i].odd && r->jumps[i].target <= address) {
            r->odd |= r->jumps[i].target == address ? r->jumps[i].odd : 0;
            r->jumps[i].odd = 0;
        }
}

static void follow_odd(struct reader *r, const struct x86 *in, uint64_t address)
{
    /* registers that calls keep: what lives through a loop is there */
    static const uint32_t KEPT = 1u << 3 | 1u << 5 | 0xf000;

    take_odd(r, address);
    if (uses_odd(r, in))
        r->f->does |= MACHINE_DISGUISES;
    if (in->flow == X86_RETURN && is_odd(r, RAX))
        r->f->does |= MACHINE_UNMASKS;
    if (in->flow == X86_CALL || in->flow == X86_CALL_FAR)
        leave_odd(r, call_odd(r, in));
    else if (leaves(r, in) && call_odd(r, in))
        r->f->does |= MACHINE_UNMASKS;
    if (in->flow == X86_JUMP || in->flow == X86_BRANCH)
        hand_on_odd(r, in->target);
    if (in->flow == X86_JUMP) /* it may be a loop's, and what follows its body */
        r->odd &= in->target - address < LOOP_BYTES ? KEPT : 0;
    else if (in->flow == X86_JUMP_FAR || in->flow == X86_RETURN)
        r->odd = 0; /* what follows is come to from elsewhere */
    if (in->flow != X86_NEXT || in->vector)
        return;
    if (in->map == 1) {
        if (in->opcode == 0xaf || (in->opcode >= 0xb6 && in->opcode <= 0xbf))
            set_odd(r, in->reg, false);
        return;
    }
    if (in->map != 0)
        return;
    if (moves_stack(in))
        memset(r->odd_slots, 0, sizeof(r->odd_slots));
    switch (in->opcode) {
    case 0x01:
    case 0x03:
    case 0x89:
    case 0x8b:
    case 0x8d:
        move_odd(r, in);
        break;
    case 0x09:
    case 0x0b:
    case 0x21:
    case 0x23:
    case 0x31:
    case 0x33:
        mix_odd(r, in);
        break;
    case 0x81:
    case 0x83:
    case 0xc1:
    case 0xd1:
    case 0xd3:
    case 0xf7:
        group_odd(r, in);
        break;
    case 0x63:
    case 0x69:
    case 0x6b:
        set_odd(r, in->reg, false);
        break;
    case 0x87: /* nothing, and in front of it rotations that are nothing: a request to Valgrind */
        if (in->rm == in->reg)
            set_odd(r, RDI, false);
        break;
    default:
        if (in->opcode >= 0xb8 && in->opcode <= 0xbf)
            set_odd(r, in->rm, false);
        break;
    }
}

/* ---- functions ---- */

static bool is_padding(const struct x86 *in)
{
    return (in->map == 0 && (in->opcode == 0x90 || in->opcode == 0xcc)) ||
           (in->map == 1 && in->opcode == 0x1f);
}

static void read_instruction(struct reader *r, const struct x86 *in, uint64_t address)
{
    if (is_label(r, address))
        forget_constants(r);
    follow(r, in);
    name_memory(r, in);
    note_stores(r, in);
    note_constants(r, in);
    follow_odd(r, in, address);
    if (!is_padding(in))
        r->last = in->flow;
}

/* Behind what never goes on may be data. */
static bool is_over(const struct reader *r)
{
    return r->last == X86_RETURN || r->last == X86_JUMP || r->last == X86_JUMP_FAR;
}

static void begin_function(struct reader *r)
{
    r->last = X86_RETURN;
    r->framed = r->added = false;
    r->odd = 0;
    memset(r->odd_slots, 0, sizeof(r->odd_slots));
    memset(r->jumps, 0, sizeof(r->jumps));
    forget_constants(r);
}

static void read_function(struct reader *r)
{
    struct machine_function *f = r->f;
    uint64_t address = f->start;

    f->calls = (uint32_t)r->m->ncalls;
    f->refs = (uint32_t)r->m->nrefs;
    begin_function(r);
    while (address < f->end) {
        struct x86 in;
        size_t n = x86_decode(&in, r->section->bytes + (address - r->section->low),
                              f->end - address, address);

        if (!n) {
            if (!is_over(r))
                f->does |= MACHINE_UNKNOWN;
            r->odd = 0;
            address++;
            continue;
        }
        read_instruction(r, &in, address);
        address += n;
    }
    if ((r->last == X86_NEXT || r->last == X86_BRANCH || r->last == X86_SYSCALL) &&
        f->end < r->section->high)
        add_call(r, (struct machine_call){ .address = f->end });
}

/* All that is jumped to by name. */
static void find_targets(struct reader *r)
{
    struct machine_function *f = r->f;

    for (uint64_t address = f->start; address < f->end;) {
        struct x86 in;
        size_t n = x86_decode(&in, r->section->bytes + (address - r->section->low),
                              f->end - address, address);
        uint64_t to = in.target - r->section->low;

        if (n && (in.flow == X86_JUMP || in.flow == X86_BRANCH) &&
            to < r->section->high - r->section->low)
            r->targets[to / 8] |= (uint8_t)(1 << to % 8);
        if (n && in.flow == X86_JUMP_FAR)
            f->does |= MACHINE_SWITCHES;
        address += n ? n : 1;
    }
}

static void read_section(struct machine *m, const struct machine_section *s)
{
    struct reader r = { .m = m, .section = s };

    r.targets = xcalloc((s->high - s->low) / 8 + 1, 1);
    for (size_t i = 0; i < 2 * m->nfunctions; i++) {
        r.f = &m->functions[i % m->nfunctions];
        if (r.f->start < s->low || r.f->start >= s->high)
            continue;
        if (i < m->nfunctions)
            find_targets(&r);
        else
            read_function(&r);
    }
    free(r.targets);
}

/* ---- functions that return disguised pointers ---- */

/* What the function does with them, now that more is known of those that it calls. */
static void read_again(struct reader *r)
{
    const struct machine_function *f = r->f;

    begin_function(r);
    for (uint64_t address = f->start; address < f->end;) {
        struct x86 in;
        size_t n = x86_decode(&in, r->section->bytes + (address - r->section->low),
                              f->end - address, address);

        if (n) {
            note_stores(r, &in); /* is there a frame? */
            follow_odd(r, &in, address);
        } else {
            r->odd = 0;
        }
        address += n ? n : 1;
    }
}

/* Names of the functions whose bit is set. */
static const char **names_of_unmaskers(const struct machine *m, size_t *count)
{
    const char **names = NULL;
    size_t cap = 0, n = 0;

    for (size_t i = 0; i < m->nsymbols; i++) {
        const struct machine_symbol *s = &m->symbols[i];
        const struct machine_function *f =
            s->code && s->exported && !s->imported ? machine_function_at(m, s->address) : NULL;

        if (!f || f->start != s->address || !(f->does & MACHINE_UNMASKS))
            continue;
        GROW(names, cap, n + 1);
        names[n++] = s->name;
    }
    *count = n;
    return names;
}

static bool calls_unmasker(const struct reader *r, const struct machine_function *f)
{
    for (uint32_t i = 0; i < f->ncalls; i++) {
        const struct machine_call *c = &r->m->calls[f->calls + i];
        const struct machine_function *to =
            c->symbol ? NULL : machine_function_at(r->m, c->address);

        if ((to && to->does & MACHINE_UNMASKS) || is_unmasker(r, c->symbol))
            return true;
    }
    return false;
}

/* A function may stand in front of one that it calls, or call it by name: so callers of those that
 * return such values are read again, until no more are found that do. */
static void spread_unmasked(struct machine *m)
{
    for (bool more = true; more;) {
        struct reader r = { .m = m };

        more = false;
        r.unmaskers = names_of_unmaskers(m, &r.nunmaskers);
        for (size_t i = 0; i < m->nfunctions; i++) {
            uint32_t before = m->functions[i].does;

            r.f = &m->functions[i];
            r.section = machine_section_at(m, r.f->start);
            if (calls_unmasker(&r, r.f))
                read_again(&r);
            more |= (r.f->does & ~before & MACHINE_UNMASKS) != 0;
        }
        free(r.unmaskers);
    }
}

static void find_word(struct machine *m, const struct machine_section *s, struct machine_call w)
{
    struct machine_function *f = w.symbol ? NULL : machine_function_at(m, w.address);

    if (s->kind == SECTION_TRACED && f)
        f->does |= MACHINE_TRACED;
    else if (s->kind != SECTION_TRACED && s->kind != SECTION_START)
        add_taken(m, w);
}

/* Words of data that hold the addresses of functions. */
static void find_taken(struct machine *m)
{
    for (size_t i = 0; i < m->file->nrelocs; i++) {
        const struct machine_reloc *w = &m->file->relocs[i];
        const struct machine_section *s = machine_section_at(m, w->at);

        if (w->local || w->slot || !s)
            continue;
        find_word(m, s, (struct machine_call){ w->value, w->symbol, false, w->weak });
    }
}

/* The same in a program at a fixed address, where the linker has filled them in. */
static void find_fixed(struct machine *m)
{
    for (size_t i = 0; m->file->fixed && i < m->file->nsections; i++) {
        const struct machine_section *s = &m->file->sections[i];

        if (!s->bytes || (s->kind != SECTION_CONSTANT && s->kind != SECTION_VARIABLE &&
                          s->kind != SECTION_TRACED))
            continue;
        for (uint64_t at = (s->low + 7) & ~UINT64_C(7); at + 8 <= s->high; at += 8) {
            uint64_t word;

            memcpy(&word, s->bytes + (at - s->low), 8);
            if (machine_function_at(m, word))
                find_word(m, s, (struct machine_call){ .address = word });
        }
    }
}

void machine_read_code(struct machine *m)
{
    for (size_t i = 0; i < m->file->nsections; i++)
        if (m->file->sections[i].kind == SECTION_CODE && m->file->sections[i].bytes)
            read_section(m, &m->file->sections[i]);
    spread_unmasked(m);
    find_taken(m);
    find_fixed(m);
}
