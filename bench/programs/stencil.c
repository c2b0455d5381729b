/* stencil - rows of a grid in rounds with a barrier between them; the residual is added without one
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, WIDTH = 8, ROUNDS = 10 };

static long grid[2][THREADS + 2][WIDTH];
static pthread_barrier_t barrier;
static long residual;
static int round_now, worst_row;
static pthread_t threads[THREADS];
static int numbers[THREADS];

static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static long relax(int from, int row)
{
    long change = 0;

    for (int i = 1; i < WIDTH - 1; i++) {
        long *to = &grid[!from][row][i];
        long old = grid[from][row][i];

        *to = (grid[from][row - 1][i] + grid[from][row + 1][i] + grid[from][row][i - 1] +
               grid[from][row][i + 1]) /
              4;
        change += *to > old ? *to - old : old - *to;
    }
    return change;
}

static void add_up(int row, long change)
{
    residual += change; /* RACE residual */
    if (change > 3)
        worst_row = row; /* RACE worst */
}

static void announce(int round)
{
    round_now = round; /* RACE round */
}

static void *work(void *arg)
{
    int row = *(int *)arg;

    for (int r = 0; r < ROUNDS; r++) {
        announce(r);
        add_up(row, relax(r & 1, row));
        meet();
    }
    return NULL;
}

static void init(void)
{
    for (int i = 0; i < THREADS + 2; i++)
        for (int k = 0; k < WIDTH; k++)
            grid[0][i][k] = grid[1][i][k] = (i * 31 + k * 17) % 100;
}

static void start(void)
{
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]))
            exit(1);
    }
}

static void finish(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static long sum(void)
{
    long s = 0;

    for (int i = 1; i <= THREADS; i++)
        for (int k = 0; k < WIDTH; k++)
            s += grid[0][i][k];
    return s;
}

int main(void)
{
    init();
    start();
    finish();
    printf("%ld\n", sum());
    return 0;
}
