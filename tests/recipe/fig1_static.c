/* fig1_static - fig1 with values that are there before the program: nobody writes the first ones
 *
 * That y was 0 is in no event of the trace, only in the executable.
 * Observed: thread 1 ends before thread 2 looks. (x, then): thread 2 reads y = 3 instead of 5, 3 >
 * 2 holds, and x = 1 comes at the same time. (x, else): y is still 0, the else branch runs. The
 * second read of x in a branch is divided by: it runs only when the first saw 1, so after the
 * write.
 */
// find mc: y y?
// find recipe-s: x then
// find recipe: x else
// never: x then2
// never: x else2
// stdout: 1
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int x, y, z = 2;
static int printed;

static void print(int n)
{
    printed = n;
}

static void *thread_1(void *arg)
{
    y = 3; // [y]
    x = 1; // [x]
    y = 5; // [y]
    return arg;
}

static void *thread_2(void *arg)
{
    if (y > z) {          // [y?]
        if (x != 0)       // [then]
            print(1 / x); // [then2]
    } else {
        if (x != 0)       // [else]
            print(2 / x); // [else2]
    }
    return arg;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, thread_1, NULL);
    usleep(30000);
    pthread_create(&b, NULL, thread_2, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", printed);
    return 0;
}
