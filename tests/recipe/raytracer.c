/* raytracer - rows of a picture by two threads; the sum of all is under a lock of each thread's own
 *
 * After the benchmark of the Java Grande suite: JGFRayTracerBench's runners render interleaved rows
 * of a scene of spheres, sum the pixels up, and add to the common checksum "synchronized (this)",
 * which excludes nobody: the known bug. Between, a barrier made of flags. Progress and the
 * brightest pixel are kept in passing. The scene is only read; the rows are apart. Observed: thread
 * 0 is ahead.
 */
// find mc: sum sum
// find recipe: half half
// vars: sum bright rows half flag
// never: scene scene
// never: pixel pixel
// stdout: checksum 267, brightest 12, warned 0
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 2, WIDTH = 8, HEIGHT = 8, SPHERES = 4 };

struct sphere {
    int x, y, r2, light;
};

struct runner {
    pthread_mutex_t lock; /* this */
    int me;
};

static struct sphere scene[SPHERES];
static int pixels[HEIGHT][WIDTH];
static long checksum;
static int brightest, rows_done, half_done, warned;
static int arrived[THREADS];

static int shade(int x, int y)
{
    int light = 1;

    for (int i = 0; i < SPHERES; i++) {
        int dx = x - scene[i].x, dy = y - scene[i].y; // [scene]

        if (dx * dx + dy * dy <= scene[i].r2) // [scene]
            light += scene[i].light;          // [scene]
    }
    return light;
}

static long render_row(int y)
{
    long sum = 0;

    for (int x = 0; x < WIDTH; x++) {
        int light = shade(x, y);

        pixels[y][x] = light; // [pixel]
        sum += light;
        if (light > brightest) // [bright]
            brightest = light; // [bright]
    }
    rows_done++;                 // [rows]
    if (rows_done == HEIGHT / 2) // [rows]
        half_done = 1;           // [half]
    return sum;
}

static void *render(void *arg)
{
    struct runner *this = arg;
    long sum = 0;

    for (int y = this->me; y < HEIGHT; y += THREADS)
        sum += render_row(y);
    pthread_mutex_lock(&this->lock);
    checksum += sum;    // [sum]
    if (half_done == 0) // [half]
        warned++;       // [half]
    pthread_mutex_unlock(&this->lock);
    arrived[this->me] = 1;                      // [flag]
    if (arrived[1 - this->me] && checksum == 0) // [flag] [sum]
        warned++;                               // [half]
    return NULL;
}

int main(void)
{
    struct runner runners[THREADS];
    pthread_t t[THREADS];

    for (int i = 0; i < SPHERES; i++)
        scene[i] = (struct sphere){ 2 * i, 7 - 2 * i, 2 + i, 3 + i };
    for (int i = 0; i < THREADS; i++) {
        runners[i].me = i;
        pthread_mutex_init(&runners[i].lock, NULL);
        pthread_create(&t[i], NULL, render, &runners[i]);
        usleep(20000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("checksum %ld, brightest %d, warned %d\n", checksum, brightest, warned);
    return 0;
}
