// Changing the locale while another thread asks for it.
// race: a b
// tsan: misses
#include "prog.h"
#include <locale.h>

THREAD(first)
{
    USE(setlocale(LC_ALL, "C")); // [a]
    return NULL;
}

THREAD(second)
{
    USE(setlocale(LC_ALL, NULL)); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
