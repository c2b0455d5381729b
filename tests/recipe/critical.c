/* critical - two threads take turns in a critical section that nothing but a variable guards
 *
 * After the benchmark of the IBM contest. A thread enters when it sees its turn, works, and hands
 * the turn on; one that is not on turn counts that, and passes the third time it tries: the bug.
 * Then both may be inside. Observed: thread 0 does all of its rounds but the last ones alone. All
 * pairs inside the section are races, since one that gives up waiting goes in at any time.
 */
// find mc: turn turn
// find recipe-s: busy busy
// vars: turn work last busy
// never: end work
// stdout: work 6, entered 2 and 2, busy 2
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 3, PATIENCE = 2 };

static int turn;
static int busy;
static int work, entered[2];
static int last = -1;

static int may_enter(int me)
{
    for (int i = 0; i < PATIENCE; i++)
        if (turn == me) // [turn]
            return 1;
    return 0;
}

static void inside(int me)
{
    if (last != me) // [last]
        last = me;  // [last]
    work += me + 1; // [work]
    entered[me]++;
}

static void *run(void *arg)
{
    int me = *(int *)arg, skipped = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (may_enter(me)) {
            inside(me);
            turn = 1 - me; // [turn]
        } else if (++skipped == 2) {
            busy++; // [busy]
            inside(me);
        }
    }
    return NULL;
}

int main(void)
{
    int numbers[2] = { 0, 1 };
    pthread_t t[2];

    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, run, &numbers[i]);
        usleep(20000);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("work %d, entered %d and %d, busy %d\n", work, entered[0], entered[1], busy); // [end]
    return 0;
}
