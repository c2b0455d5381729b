// A bounded queue with a sequence number for each cell.
// issue: https://github.com/google/sanitizers/issues/1552
// tool: ThreadSanitizer
// there: false alarm; since LLVM 14, for a hand-over by release and acquire, on loaded machines
// verdict: no race; a cell's data is written before its number is released, read after it is
//   acquired
#include "prog.h"

enum { CELLS = 4, MESSAGES = 20 };
struct cell {
    unsigned turn;
    int data[2];
} cells[CELLS];

THREAD(pushes)
{
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct cell *cell = &cells[i % CELLS];
        while (__atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE) != i)
            pause_ms(1);
        cell->data[0] = (int)i;
        cell->data[1] = -(int)i;
        __atomic_store_n(&cell->turn, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

THREAD(pops)
{
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct cell *cell = &cells[i % CELLS];
        while (__atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE) != i + 1)
            pause_ms(1);
        if (cell->data[0] + cell->data[1])
            abort();
        __atomic_store_n(&cell->turn, i + CELLS, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    for (unsigned i = 0; i < CELLS; i++)
        cells[i].turn = i;
    run_two(pushes, pops);
    return 0;
}
