// Locks in inline assembly, as libraries and old kernels have them; each guards a counter.
// flags: -O1
// flags: -O0
// flags: -O2
// tsan: false alarm
#include "prog.h"

enum { ROUNDS = 200 };
typedef void operation(void *);

/* ---- exchange; unlocked by a move of a number ---- */

static int exchange(volatile int *p, int v)
{
    __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(*p) : : "memory");
    return v;
}

static void xchg_lock(void *p)
{
    volatile int *l = p;
    while (exchange(l, 1))
        while (*l)
            sched_yield();
}

static void move_unlock(void *l)
{
    __asm__ volatile("movl $0, %0" : "=m"(*(volatile int *)l) : : "memory");
}

/* ---- compare and exchange; unlocked by a volatile store ---- */

static int compare_exchange(volatile int *p, int old, int new)
{
    __asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(old), "+m"(*p) : "r"(new) : "memory", "cc");
    return old;
}

static void cas_lock(void *l)
{
    while (compare_exchange(l, 0, 1))
        sched_yield();
}

static void volatile_unlock(void *l)
{
    __asm__ volatile("" : : : "memory");
    *(volatile int *)l = 0;
}

/* ---- a counter that goes below one; it waits inside of the assembly ---- */

static void kernel_lock(void *l)
{
    __asm__ volatile("1: lock; decl %0\n\tjns 3f\n"
                     "2: pause\n\tcmpl $0, %0\n\tjle 2b\n\tjmp 1b\n3:"
                     : "+m"(*(volatile int *)l)
                     :
                     : "memory", "cc");
}

static void kernel_unlock(void *l)
{
    __asm__ volatile("movl $1, %0" : "+m"(*(volatile int *)l) : : "memory");
}

/* ---- tickets ---- */

struct tickets {
    volatile unsigned next, serving;
};

static void ticket_lock(void *p)
{
    struct tickets *t = p;
    unsigned mine = 1; /* becomes the number before */
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(mine), "+m"(t->next) : : "memory", "cc");
    while (t->serving != mine)
        sched_yield();
}

static void ticket_unlock(void *p)
{
    struct tickets *t = p;
    __asm__ volatile("" : : : "memory");
    t->serving++;
}

/* ---- the address in a register ---- */

static void pointer_lock(void *l)
{
    int v = 1;
    do
        __asm__ volatile("xchgl %0, (%1)" : "+r"(v) : "r"(l) : "memory");
    while (v && !sched_yield());
}

static void pointer_unlock(void *l)
{
    __asm__ volatile("movl $0, (%0)" : : "r"(l) : "memory");
}

static void pointer_ticket_unlock(void *p)
{
    struct tickets *t = p;
    __asm__ volatile("incl (%0)" : : "r"(&t->serving) : "memory", "cc");
}

/* ---- a bit, with a jump ---- */

static void bit_lock(void *l)
{
again:
    __asm__ goto("lock; btsl $0, (%0)\n\tjc %l[taken]" : : "r"(l) : "memory", "cc" : taken);
    return;
taken:
    sched_yield();
    goto again;
}

static struct {
    operation *lock, *unlock;
    struct tickets word;
    long count;
} kinds[] = {
    { xchg_lock, move_unlock, { 0, 0 }, 0 },
    { xchg_lock, volatile_unlock, { 0, 0 }, 0 },
    { cas_lock, volatile_unlock, { 0, 0 }, 0 },
    { cas_lock, move_unlock, { 0, 0 }, 0 },
    { kernel_lock, kernel_unlock, { 1, 0 }, 0 },
    { ticket_lock, ticket_unlock, { 0, 0 }, 0 },
    { pointer_lock, move_unlock, { 0, 0 }, 0 },
    { bit_lock, move_unlock, { 0, 0 }, 0 },
    { pointer_lock, pointer_unlock, { 0, 0 }, 0 },
    { ticket_lock, pointer_ticket_unlock, { 0, 0 }, 0 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

THREAD(work)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < KINDS; k++) {
            kinds[k].lock(&kinds[k].word);
            kinds[k].count++;
            kinds[k].unlock(&kinds[k].word);
        }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    for (int k = 0; k < KINDS; k++)
        if (kinds[k].count != 2 * ROUNDS)
            return 1;
    return 0;
}
