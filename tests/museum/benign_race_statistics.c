// A high-water mark is updated without synchronisation, which its authors meant to be harmless.
// issue: https://github.com/llnl/Umpire/pull/531
//   https://github.com/mono/mono/pull/5596
// tool: ThreadSanitizer
// there: unusable report; is it a report to act on? some wanted neither atomics nor a suppression
// verdict: race; by the standard there are no harmless ones: the read and the write conflict
// race: write read|write
// may: read write
#include "prog.h"

long high_watermark;

static void *allocates(void *arg)
{
    long size = *(long *)arg;

    if (size > high_watermark) // [read]
        high_watermark = size; // [write]
    return NULL;
}

int main(void)
{
    long sizes[] = { 10, 20 };
    pthread_t a = start(allocates, &sizes[0]), b = start(allocates, &sizes[1]);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return high_watermark == 0;
}
