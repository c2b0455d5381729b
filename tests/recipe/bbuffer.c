/* bbuffer - bounded buffer with a monitor, and the status that everybody keeps without it
 *
 * After the benchmark "boundedbuffer" (Producer, Consumer, a buffer with wait and notify, counters
 * and a halting protocol in shared fields). What the monitor guards (slots, head, tail, count) is
 * no race. The status fields (how many elements seem to be there, high water, halted, who is
 * running) are kept outside of it. Observed: the producers are done when the consumers start, one
 * after another.
 */
// find mc: n n
// find recipe-s: high high
// find recipe-s: running running
// find recipe-s: halted halted
// find recipe: idle idle
// vars: n high halted late running idle hungry
// never: in in
// never: in out
// never: out out
// slow: recipe
// stdout: 406 and 806 taken, high water 8
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SIZE = 8, EACH = 4, PRODUCERS = 2, CONSUMERS = 2 };

static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int slots[SIZE], head, tail, count; /* guarded by monitor */

static int num_elements, high_water, halted, running, late, idle, hungry; /* the status */
static int taken[CONSUMERS];

static void put(int value)
{
    pthread_mutex_lock(&monitor);
    while (count == SIZE) // [in]
        pthread_cond_wait(&changed, &monitor);
    slots[tail] = value;      // [in]
    tail = (tail + 1) % SIZE; // [in]
    count++;                  // [in]
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&monitor);
}

static int get(void)
{
    int value;

    pthread_mutex_lock(&monitor);
    while (count == 0) // [out]
        pthread_cond_wait(&changed, &monitor);
    value = slots[head];      // [out]
    head = (head + 1) % SIZE; // [out]
    count--;                  // [out]
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&monitor);
    return value;
}

static void note_put(void)
{
    num_elements++;                // [n]
    if (num_elements > high_water) // [n] [high]
        high_water = num_elements; // [n] [high]
    if (halted)                    // [halted]
        late++;                    // [late]
}

static void *produce(void *arg)
{
    int base = *(int *)arg;

    running++; // [running]
    for (int i = 0; i < EACH; i++) {
        put(base + i);
        note_put();
    }
    running--; // [running]
    return NULL;
}

static void note_get(void)
{
    if (num_elements > 0) // [n]
        num_elements--;   // [n]
    else
        hungry++;          // [hungry]
    if (high_water > SIZE) // [high]
        high_water = SIZE; // [high]
}

static void *consume(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < PRODUCERS * EACH / CONSUMERS; i++) {
        taken[me] += get();
        note_get();
    }
    if (running == 0) // [running]
        halted = 1;   // [halted]
    else
        idle++; // [idle]
    return NULL;
}

int main(void)
{
    int bases[PRODUCERS] = { 100, 200 }, numbers[CONSUMERS] = { 0, 1 };
    pthread_t p[PRODUCERS], c[CONSUMERS];

    for (int i = 0; i < PRODUCERS; i++) {
        pthread_create(&p[i], NULL, produce, &bases[i]);
        usleep(10000);
    }
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_create(&c[i], NULL, consume, &numbers[i]);
        usleep(10000);
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(p[i], NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(c[i], NULL);
    printf("%d and %d taken, high water %d\n", taken[0], taken[1], high_water);
    return 0;
}
