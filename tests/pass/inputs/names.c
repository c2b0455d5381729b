/* Names of variables. */
#include <stdlib.h>

struct limits {
    int min, max;
};
struct q {
    struct q *next;
    long head;
    struct limits limits;
    union {
        int number;
        float real;
    };
};
struct q global;
int numbers[10];
extern void sink(void *p);

void members(struct q *p)
{
    p->head = 1;              // @head
    p->limits.max = 2;        // @max
    p->number = 3;            // @number
    global.limits.min = 4;    // @global
    numbers[rand() % 10] = 5; // @array
}

void local(void)
{
    struct q mine;
    sink(&mine);
    mine.head = 6; // @mine
    sink(&mine);
}
