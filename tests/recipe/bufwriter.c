/* bufwriter - writers append to one buffer, some under its lock and some not; a checker counts
 *
 * After the benchmark of the IBM contest. SyncWriter locks the buffer, Writer (the bug) does not.
 * Who finds the buffer full marks that, and what it has is lost; a writer that finds it closed
 * stops. The checker looks at what is there without the lock, and closes a buffer that is full.
 * Observed: the last writer, an unlocked one, finds the buffer full; the checker comes after it.
 * Marks: the locked writers (s), the others (p) and the checker (c) at one variable; s with s
 * never.
 */
// find mc: pos.p pos.s
// vars: pos.p cell.p full.p lost.p closed dropped turns
// true: pos.s pos.p
// true: pos.s pos.c
// true: pos.p pos.c
// true: cell.s cell.p
// true: cell.s cell.c
// true: cell.p cell.c
// true: full.s full.p
// true: full.s full.c
// true: full.p full.c
// true: lost.s lost.p
// true: lost.s lost.c
// true: lost.p lost.c
// never: pos.s pos.s
// never: cell.s cell.s
// never: lost.s lost.s
// slow: recipe
// stdout: 2 missing, 0 wrong, full 1, 2 lost, closed 1, 0 dropped
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOM = 10, SYNC_WRITERS = 2, WRITERS = 2, EACH = 3, SPARE = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char cells[ROOM + SPARE];
static int position;
static int full, lost, closed, dropped, turns;
static int missing, wrong, shown;

static void *sync_write(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&lock);
        if (position < ROOM) {                  // [pos.s]
            cells[position] = (char)('a' + me); // [pos.s] [cell.s]
            position++;                         // [pos.s]
        } else {
            full = 1; // [full.s]
            lost++;   // [lost.s]
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *plain_write(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < EACH; i++) {
        if (closed) {  // [closed]
            dropped++; // [dropped]
            break;
        }
        if (position < ROOM) {                  // [pos.p]
            cells[position] = (char)('A' + me); // [pos.p] [cell.p]
            position++;                         // [pos.p]
        } else {
            full = 1; // [full.p]
            lost++;   // [lost.p]
        }
        turns++; // [turns]
    }
    return NULL;
}

static void *check(void *arg)
{
    int n = position; // [pos.c]

    if (full) {       // [full.c]
        shown = lost; // [lost.c]
        closed = 1;   // [closed]
    }
    for (int i = 0; i < n && i < ROOM; i++)
        if (cells[i] == 0) // [cell.c]
            wrong++;
    missing = (SYNC_WRITERS + WRITERS) * EACH - n;
    return arg;
}

int main(void)
{
    int numbers[] = { 0, 1, 2, 3 };
    pthread_t t[SYNC_WRITERS + WRITERS + 1];
    int n = 0;

    for (; n < SYNC_WRITERS + WRITERS; n++) {
        pthread_create(&t[n], NULL, n % 2 ? plain_write : sync_write, &numbers[n]);
        usleep(8000);
    }
    pthread_create(&t[n++], NULL, check, NULL);
    while (n > 0)
        pthread_join(t[--n], NULL);
    printf("%d missing, %d wrong, full %d, %d lost, closed %d, %d dropped\n", missing, wrong, full,
           lost, closed, dropped);
    return 0;
}
