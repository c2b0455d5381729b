/* calls.c - calls of code that is traced elsewhere (PART 1), excluded, untraced (PART 2), known */
#ifndef PART
#define PART 0
#endif

struct node {
    struct node *next;
    int value;
};
int traced(struct node *n);
int untraced(struct node *n);
int excluded(struct node *n);
int pure(const struct node *n) __attribute__((pure));
int handle(unsigned long t);
extern int (*volatile pointer)(struct node *);
extern unsigned long number;

#if PART == 0
#include <stdlib.h>

int excluded(struct node *n)
{
    return __atomic_load_n(&n->value, __ATOMIC_ACQUIRE);
}

int main(void)
{
    struct node local = { NULL, 1 }, *n = &local;
    int sum = traced(n) + pointer(n);
    sum += untraced(n); /* @untraced */
    sum += excluded(n); /* @excluded */
    sum += pure(n) + abs(sum) + (int)(a64l("1") & 0);
    pointer = untraced;
    sum += pointer(n);     /* @pointer */
    sum += handle(number); /* @handle */
    return sum != 11;
}
#elif PART == 1
int traced(struct node *n)
{
    return n->value;
}
int (*volatile pointer)(struct node *) = traced;
unsigned long number = 5;
#else
int untraced(struct node *n)
{
    return n->value;
}
int pure(const struct node *n)
{
    return n->value;
}
int handle(unsigned long t)
{
    return t == 5;
}
#endif
