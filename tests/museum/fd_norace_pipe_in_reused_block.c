// Two threads make pipes, whose numbers they keep in blocks from the heap; the blocks are reused.
// issue: https://github.com/SophistSolutions/Stroika/issues/808
// tool: ThreadSanitizer
// there: false alarm; what pipe() stores against what another thread's pipe() stored there before
// verdict: no race; between the two, the block was freed and allocated: free synchronizes with
//   malloc
#include "prog.h"

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        int *ends = malloc(2 * sizeof(int));
        if (!pipe(ends)) {
            close(ends[0]);
            close(ends[1]);
        }
        free(ends);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
