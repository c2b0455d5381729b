// Accesses behind an ignored part count again.
// race: a b
// gcc: also
#include "prog.h"

void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

int hidden, shown;

THREAD(first)
{
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    hidden = 1;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    shown = 1; // [a]
    return NULL;
}

THREAD(second)
{
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    hidden = 2;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    shown = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
