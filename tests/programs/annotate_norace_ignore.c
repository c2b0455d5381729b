// Accesses between ignore begin and end do not count, those of functions called there included.
// gcc: also
#include "prog.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

int counter, table[8];

__attribute__((noinline)) static int fill(int n)
{
    for (int i = 0; i < 8; i++)
        if (table[i] < n)
            table[i] += n;
    return table[n & 7];
}

static void work(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    counter += fill(1);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

THREAD(first)
{
    work();
    return NULL;
}

THREAD(second)
{
    work();
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
