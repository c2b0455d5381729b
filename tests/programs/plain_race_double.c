// A double and a float.
// race: d1 d2
// race: f1 f2
// never: d1 f2
#include "prog.h"

double d;
float f;

THREAD(first)
{
    d = 1.5; // [d1]
    f = 2.5; // [f1]
    return NULL;
}

THREAD(second)
{
    d = 3.5; // [d2]
    USE(f);  // [f2]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
