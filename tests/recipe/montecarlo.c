/* montecarlo - paths of a random walk priced by two threads; results go into a common list
 *
 * After the benchmark of the Java Grande suite: each runner takes tasks, simulates a path from its
 * own seed, and adds the result to a vector under its lock. The expected rate, common to all runs,
 * is a plain static that each run sets; the options are made by the first who finds none (not
 * locked). Observed: one runner after the other.
 */
// find mc: rate rate
// find recipe: ready ready
// find recipe: drift drift
// find recipe: spread spread
// vars: rate ready drift spread extreme failed
// never: list list
// never: list rate
// stdout: 6 results, mean 115, highest 127, failed 0
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 2, RUNS = 6, STEPS = 20 };

struct options {
    int drift, spread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int results[RUNS], nresults; /* guarded by lock */
static int expected_rate;
static struct options options;
static int ready, highest, failed;

static void initialise(void)
{
    if (!ready) {            // [ready]
        options.drift = 3;   // [drift]
        options.spread = 16; // [spread]
        ready = 1;           // [ready]
    }
}

static int simulate(unsigned seed)
{
    int price = 100;

    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1103515245u + 12345u;
        price += (int)((seed >> 16) % (unsigned)(options.spread + 1)) - 8; // [spread]
        if (i % 5 == 0)
            price += options.drift; // [drift]
    }
    return price;
}

static void add_result(int value)
{
    pthread_mutex_lock(&lock);
    if (nresults < RUNS)             // [list]
        results[nresults++] = value; // [list]
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
    int me = *(int *)arg;

    initialise();
    for (int i = me; i < RUNS; i += THREADS) {
        int value = simulate((unsigned)i * 77u + 1u);

        expected_rate = value - 100; // [rate]
        if (value > highest)         // [extreme]
            highest = value;         // [extreme]
        if (value < 0)
            failed++; // [failed]
        add_result(value);
    }
    if (expected_rate > 1000) // [rate]
        failed++;             // [failed]
    return NULL;
}

int main(void)
{
    int numbers[THREADS] = { 0, 1 };
    pthread_t t[THREADS];
    long sum = 0;

    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, work, &numbers[i]);
        usleep(20000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < nresults; i++)
        sum += results[i];
    printf("%d results, mean %ld, highest %d, failed %d\n", nresults, sum / nresults, highest,
           failed);
    return 0;
}
