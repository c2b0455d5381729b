// Values that libc writes for its caller are the program's own: in a full recording a read of them
// must not look as if nobody could have written what it saw, or nothing behind it can be predicted.
// race: a b
// engine: mc
// options: --engine mc
// args: --size=4
// gcc: also
#include "prog.h"
#include <getopt.h>
#include <math.h>
#include <sched.h>

int x;
static int flag;
static int results[4] = { 1, 1, 1, 1 };

/* Each is another value than the program wrote there. */
static void ask_libc(int argc, char **argv)
{
    const struct option options[] = { { "name", required_argument, NULL, 'n' },
                                      { "size", required_argument, &flag, 7 },
                                      { NULL, 0, NULL, 0 } };
    char text[] = "size=1,name", *at = text, *value = argv[0];
    char *const tokens[] = { "name", "size", NULL };
    double whole = -1;
    cpu_set_t set;

    memset(&set, 255, sizeof(set));
    results[0] = 5;
    USE(getopt_long(argc, argv, "n:", options, &results[0]));
    USE(frexp(1e9, &results[1]));
    USE(modf(2.5, &whole));
    USE(getsubopt(&at, tokens, &value));
    USE(sched_getaffinity(0, sizeof(set), &set));
    if (results[0] == 5 || results[1] == 1 || whole < 0 || flag != 7 || value == argv[0] ||
        CPU_ISSET(1000, &set))
        exit(3);
}

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(int argc, char **argv)
{
    ask_libc(argc, argv);
    run_two(first, second);
    return 0;
}
