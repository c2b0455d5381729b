/* fig3 - Figures 3 and 4 of the paper: the value that another branch needs is computed in a loop
 *
 * s is 1 + 2 = 3 whatever happens, so y = s satisfies y > 2: (x, then) while y = 5 is still to
 * come. With y = 0 the else branch reads x: (x, else).
 */
// find mc: y y?
// find recipe-s: x then
// find recipe: x else
// never: first x
// stdout: 2
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int x, y;
static int printed;

static void print(int n)
{
    printed = n;
}

static void *thread_1(void *arg)
{
    int s = 0;

    for (int i = 1; i < 3; i++)
        s += i;
    y = s; // [y]
    x = 1; // [x]
    y = 5; // [y]
    return arg;
}

static void *thread_2(void *arg)
{
    if (y > 2)        // [y?]
        print(x + 1); // [then]
    else
        print(x + 2); // [else]
    return arg;
}

int main(void)
{
    pthread_t a, b;

    x = 0; // [first]
    y = 0; // [first]
    pthread_create(&a, NULL, thread_1, NULL);
    usleep(30000);
    pthread_create(&b, NULL, thread_2, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", printed);
    return 0;
}
