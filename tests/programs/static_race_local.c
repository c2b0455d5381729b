// A static local is a global with a short name.
// race: a a
// gcc: also
#include "prog.h"

static int next_id(void)
{
    static int id;
    return ++id; // [a]
}

THREAD(work)
{
    USE(next_id());
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
