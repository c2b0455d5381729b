// Blocks of an untraced library's allocator go from thread to thread.
// issue: https://github.com/nanocurrency/nano-node/issues/241
// tool: ThreadSanitizer
// there: false alarm; memset in g_slice_alloc0 against another thread's use of the block before
// verdict: no race; the allocator's lock orders giving back and getting a block
// library: library_slices.c untraced
#include "prog.h"

void *slice_get(void);
void slice_put(void *block);

THREAD(work)
{
    for (int i = 0; i < 4; i++) {
        int *block = slice_get();
        block[0] = i;
        block[1] = block[0] + 1;
        slice_put(block);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
