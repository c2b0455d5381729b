// strtok keeps its position in hidden state.
// race: a b
// tsan: misses
#include "prog.h"

THREAD(first)
{
    char text[] = "a b c";
    USE(strtok(text, " ")); // [a]
    return NULL;
}

THREAD(second)
{
    char text[] = "d e f";
    USE(strtok(text, " ")); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
