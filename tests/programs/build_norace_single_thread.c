// No thread at all, all kinds of code: nothing to report, same output.
// flags: -O0
// flags: -O3
// stdout: 285 4950 hello
// gcc: also
#include "prog.h"

static int square(int x)
{
    return x * x;
}

int main(void)
{
    static int volatile global;
    global++;
    int (*volatile f)(int) = square;
    int squares = 0, sum = 0, n = 100;
    char vla[n], *text = NULL;
    for (int i = 0; i < 10; i++)
        squares += f(i);
    for (int i = 0; i < n; i++)
        vla[i] = (char)i;
    for (int i = 0; i < n; i++)
        sum += vla[i];
    if (asprintf(&text, "%s", "hello") < 0)
        return 1;
    printf("%d %d %s\n", squares, sum, text);
    free(text);
    return 0;
}
