/* bubblesort - a thread for each pass of bubble sort
 *
 * After the benchmark of the IBM contest: a pass compares and swaps neighbours under the lock of
 * the array, but looks without it whether the array is sorted by now, and counts its swaps outside.
 * Passes are started one after another and overlap. Observed: nearly one after another. The array
 * itself is only touched under its lock.
 */
// find mc: swaps swaps
// find recipe-s: sorted sorted
// vars: swaps sorted skipped worst
// never: array array
// never: array swaps
// slow: recipe
// stdout: 30 swaps, sorted 1, 0 skipped, 0 first
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 10, PASSES = 10 };

static int array[N] = { 7, 3, 9, 1, 8, 2, 6, 5, 4, 0 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int swaps, sorted, skipped, worst;

static int bubble(int i)
{
    int swapped = 0;

    pthread_mutex_lock(&lock);
    if (array[i] > array[i + 1]) { // [array]
        int t = array[i];          // [array]

        array[i] = array[i + 1]; // [array]
        array[i + 1] = t;        // [array]
        swapped = 1;
    }
    pthread_mutex_unlock(&lock);
    return swapped;
}

static void *pass(void *arg)
{
    int last = *(int *)arg, mine = 0;

    if (sorted) {  // [sorted]
        skipped++; // [skipped]
        return NULL;
    }
    for (int i = 0; i < last; i++)
        mine += bubble(i);
    swaps += mine;    // [swaps]
    if (mine > worst) // [worst]
        worst = mine; // [worst]
    if (mine == 0)
        sorted = 1; // [sorted]
    return NULL;
}

int main(void)
{
    int lasts[PASSES];
    pthread_t t[PASSES];

    for (int i = 0; i < PASSES; i++) {
        lasts[i] = N - 1;
        pthread_create(&t[i], NULL, pass, &lasts[i]);
        usleep(3000);
    }
    for (int i = 0; i < PASSES; i++)
        pthread_join(t[i], NULL);
    printf("%d swaps, sorted %d, %d skipped, %d first\n", swaps, sorted, skipped, array[0]);
    return 0;
}
