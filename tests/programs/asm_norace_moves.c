// Loads and stores in inline assembly, as libraries of lock-free code have them (Concurrency Kit):
// volatile moves that the compiler moves nothing past. On x86 they acquire and release.
// flags: -O1
// flags: -O0
// tsan: false alarm
#include "prog.h"

struct message {
    int number;
    char text[12];
};
struct message *box;
int taken;

static void *load_pointer(const void *p)
{
    void *v;
    __asm__ volatile("movq %1, %0" : "=q"(v) : "m"(*(const char *)p) : "memory");
    return v;
}

static void store_pointer(void *p, const void *v)
{
    __asm__ volatile("movq %1, %0" : "=m"(*(char *)p) : "q"(v) : "memory");
}

static int load_int(const int *p)
{
    int v;
    __asm__ volatile("movl %1, %0" : "=q"(v) : "m"(*p) : "memory");
    return v;
}

static void store_int(int *p, int v)
{
    __asm__ volatile("mov %1, %0;" : "=m"(*p) : "iq"(v) : "memory");
}

THREAD(sends)
{
    for (int i = 1; i <= 20; i++) {
        struct message *m = malloc(sizeof(*m));
        m->number = i;
        strcpy(m->text, "hello");
        store_pointer(&box, m);
        while (load_int(&taken) < i)
            sched_yield();
    }
    return NULL;
}

THREAD(receives)
{
    for (int i = 1; i <= 20; i++) {
        struct message *m;
        while (!(m = load_pointer(&box)) || m->number != i)
            sched_yield();
        if (m->text[0] != 'h')
            abort();
        store_int(&taken, i);
    }
    return NULL;
}

int main(void)
{
    run_two(sends, receives);
    return 0;
}
