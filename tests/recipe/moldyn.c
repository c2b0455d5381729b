/* moldyn - particles moved by two threads in steps, with a barrier made of flags
 *
 * After the benchmark of the Java Grande suite: runners compute forces on their share of the
 * particles, add to common sums, and wait for each other at TournamentBarrier, which spins on plain
 * flags (IsDone). Then they move their particles, sum kinetic energy and velocity, count the fast
 * ones, and the temperature is scaled back when it runs away. Integers stand for fixed-point
 * numbers. Observed: thread 1 comes later and ends each phase last. What the flags order is no race
 * by the values that the loop needs: positions moved after a barrier and before the next are only
 * read before and after. The flags themselves and all sums are races.
 * The timer is like the suite's JGFInstrumentor, but every runner starts and stops it, not only the
 * first: one for all threads, without a lock.
 */
// find mc: done done
// find recipe-s: epot epot
// find recipe-s: ekin ekin
// find recipe-s: vel vel
// vars: done epot vir inter ekin vel fast mean scaled peak
// vars: on warnings started ticks total calls
// never: x x
// never: own own
// slow: recipe
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 2, PARTICLES = 6, STEPS = 2, CUTOFF = 900, HOT = 400 };

struct particle {
    int x, v, f;
};

static struct particle md[PARTICLES];
static int done[THREADS];
static int timer_on, timer_started, timer_total, timer_calls, timer_warnings, ticks;
static int epot, vir, interactions;             /* of the forces */
static int ekin, vel, mean, fast, peak, scaled; /* of the moves */

/* JGFInstrumentor: one timer for all, each start and stop by whoever comes */
static void start_timer(void)
{
    if (timer_on)          // [on]
        timer_warnings++;  // [warnings]
    timer_on = 1;          // [on]
    timer_started = ticks; // [started] [ticks]
}

static void stop_timer(void)
{
    if (!timer_on) {      // [on]
        timer_warnings++; // [warnings]
        return;
    }
    timer_total += ticks - timer_started; // [total] [ticks] [started]
    timer_calls++;                        // [calls]
    timer_on = 0;                         // [on]
}

static void barrier(int me, int round)
{
    done[me] = round;            // [done]
    while (done[1 - me] < round) // [done]
        usleep(2000);
}

static void force(int i)
{
    int f = 0;

    for (int k = 0; k < PARTICLES; k++) {
        int d = md[i].x - md[k].x; // [x]

        if (k != i && d * d < CUTOFF) {
            f += d > 0 ? 40 - d : -40 - d;
            interactions++;                // [inter]
            epot += 30 - (d > 0 ? d : -d); // [epot]
        }
    }
    ticks++;     // [ticks]
    md[i].f = f; // [own]
    vir -= f;    // [vir]
}

static void move(int i)
{
    int v = md[i].v + md[i].f / 8; // [own]

    md[i].v = v;           // [own]
    md[i].x += v;          // [x]
    ekin += v * v;         // [ekin]
    vel += v > 0 ? v : -v; // [vel]
    if (v > mean)          // [mean]
        fast++;            // [fast]
    if (ekin > peak)       // [ekin] [peak]
        peak = ekin;       // [ekin] [peak]
}

static void scale(void)
{
    if (ekin > HOT) {                         // [ekin]
        scaled++;                             // [scaled]
        ekin /= 2;                            // [ekin]
    } else if (interactions > 0 && vel > 0) { // [inter] [vel]
        mean = vel / PARTICLES;               // [mean] [vel]
    }
}

static void *run(void *arg)
{
    int me = *(int *)arg, round = 0;

    for (int s = 0; s < STEPS; s++) {
        start_timer();
        for (int i = me; i < PARTICLES; i += THREADS)
            force(i);
        stop_timer();
        barrier(me, ++round);
        for (int i = me; i < PARTICLES; i += THREADS)
            move(i);
        scale();
        barrier(me, ++round);
    }
    return NULL;
}

int main(void)
{
    int numbers[THREADS] = { 0, 1 };
    pthread_t t[THREADS];

    for (int i = 0; i < PARTICLES; i++) {
        md[i].x = i * 17 % 60;
        md[i].v = i - 3;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, run, &numbers[i]);
        usleep(5000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("epot %d, vir %d, interactions %d, ekin %d, %d fast, scaled %d\n", epot, vir,
           interactions, ekin, fast, scaled);
    return 0;
}
