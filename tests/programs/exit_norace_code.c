// The exit code, arguments and output pass through; handlers of atexit are traced.
// args: one two
// exit: 42
// stdout: 3 one two
// stdout: bye
// gcc: also
#include "prog.h"

int x;

static void bye(void)
{
    x++;
    puts("bye");
}

THREAD(child)
{
    x++;
    return NULL;
}

int main(int argc, char **argv)
{
    atexit(bye);
    pthread_join(start(child, NULL), NULL);
    printf("%d %s %s\n", argc, argv[1], argv[2]);
    exit(42);
}
