/* calls.c - untraced functions get a call and a return, traced ones none
 *
 * Linked with calls_other.c, which is traced, and say.c, which is not.
 */
#include "say.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long traced_elsewhere(long n, long *p);
extern long (*traced_pointer)(long, long *);
static long cell[4];

static void callback(void *p)
{
    ++*(long *)p;
    say("callback", 1);
}

int main(int argc, char **argv)
{
    long (*untraced_pointer)(long, const void *, void *) = untraced_pure;
    ssize_t (*volatile of_the_system)(int, const void *, size_t) = write;
    long sum = 0;

    (void)argv;
    say("cell0", (unsigned long long)&cell[0]);
    say("cell1", (unsigned long long)&cell[1]);
    for (int i = 0; i < 5; i++)
        sum += untraced_pure(i, &cell[0], &cell[1]);
    for (int i = 0; i < 7; i++)
        sum += traced_elsewhere(i, &cell[2]);
    for (int i = 0; i < 3; i++)
        sum += traced_pointer(i, &cell[3]);
    if (argc > 100)
        untraced_pointer = NULL;
    for (int i = 0; i < 2; i++)
        sum += untraced_pointer(i, &cell[1], NULL);
    sum += of_the_system(1, "", 0); /* the runtime's own, which is not missing */
    untraced_call(callback, &cell[0]);
    say("sum", (unsigned long long)sum);
    return 0;
}
