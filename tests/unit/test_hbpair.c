/* test_hbpair.c - litehb and fullhb against a naive happens-before, on random programs
 *
 * The modes are called as the runtime would call them, by real threads (their state is
 * thread-local) that take turns, one step at a time. The reference remembers every access with a
 * full vector clock. fullhb must report exactly the pairs of sites that some unordered accesses
 * have. litehb must report those with s1 first; where a relaxed load was announced while it did not
 * follow synchronisation it takes it for an acquire, so with atomics it may report fewer, never
 * more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/production/hbpair.h"

enum { THREADS = 24, LIVE = 5, STEPS = 160, ACCESSES = STEPS, OBJECTS = 4, WORDS = 3, SITES = 5 };

/* ---- what the modes need of the runtime ---- */

struct prod_control *rt_control;
uint32_t rt_sandbox, rt_calls_under_way; /* there is none here */
_Thread_local struct heddle_tls __heddle_tls;
_Thread_local uint32_t rt_signals_pending;
static _Thread_local uint32_t own_number;
static uint32_t sightings;

void rt_signals_run_pending(void)
{
}
uint32_t patch_count(void)
{
    return SITES;
}
int64_t patch_find(const struct prod_site *s)
{
    return s->index;
}
bool patch_look(uint32_t site, struct prod_hit *h)
{
    *h = (struct prod_hit){ .site = site };
    return true;
}
bool patch_name(uint32_t site, struct prod_site *s)
{
    *s = (struct prod_site){ .index = site };
    return true;
}
int patch_sites(const uint32_t *sites, size_t n, bool on)
{
    (void)sites;
    (void)on;
    return (int)n;
}
uint32_t prod_backtrace(const struct prod_hit *h, uint64_t *frames, uint32_t room)
{
    frames[0] = h->pc;
    return room > 0;
}
void prod_note_images(const uint64_t *frames, uint32_t n)
{
    (void)frames;
    (void)n;
}
void prod_stack_is(uint64_t low, uint64_t bytes)
{
    (void)low;
    (void)bytes;
}
long sandbox_call(long number, const long *args)
{
    (void)number;
    (void)args;
    return -1;
}

int rt_yield(void)
{
    return 0;
}

uint64_t prod_now_ns(void)
{
    return 1;
}
uint32_t prod_thread(void)
{
    return own_number;
}
struct prod_sighting *prod_sighting(void)
{
    return &rt_control->sighting[sightings++ % PROD_SIGHTINGS_MAX];
}

/* ---- the pair: sites 0, 1 are s1, sites 2, 3 are s2, site 4 is both ---- */

static bool is_one(uint32_t site)
{
    return site < 2 || site == 4;
}
static bool is_two(uint32_t site)
{
    return site >= 2;
}
static uint32_t number_one(uint32_t site)
{
    return site == 4 ? 2 : site;
}
static uint32_t number_two(uint32_t site)
{
    return site - 2;
}

static void set_pair(void)
{
    static const uint32_t one[] = { 0, 1, 4 }, two[] = { 2, 3, 4 };

    rt_control->nsites[0] = rt_control->nsites[1] = 3;
    for (int i = 0; i < 3; i++) {
        rt_control->site[0][i].index = one[i];
        rt_control->site[1][i].index = two[i];
    }
}

/* ---- the reference ---- */

typedef uint32_t clock_t_[THREADS];

struct access {
    uint64_t address;
    uint32_t bytes, site, thread, event;
    bool write, atomic, forgotten;
};

static struct reference {
    clock_t_ thread[THREADS], object[OBJECTS], sem[OBJECTS], atomic[WORDS], begin[THREADS],
        end[THREADS];
    int pending[THREADS]; /* word of an atomic load + 1 */
    struct access access[ACCESSES];
    int accesses;
    bool expected[3][3];
} ref;

static void join(clock_t_ to, const clock_t_ from)
{
    for (int i = 0; i < THREADS; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

static void ref_settle(uint32_t t)
{
    if (ref.pending[t])
        join(ref.thread[t], ref.atomic[ref.pending[t] - 1]);
    ref.pending[t] = 0;
}

static void expect(const struct access *kept, const struct access *now, bool lite)
{
    if (is_one(kept->site) && is_two(now->site))
        ref.expected[number_one(kept->site)][number_two(now->site)] = true;
    else if (!lite && is_two(kept->site) && is_one(now->site))
        ref.expected[number_one(now->site)][number_two(kept->site)] = true;
}

static void ref_access(struct access a, bool lite)
{
    uint32_t t = a.thread;

    ref_settle(t);
    a.event = ++ref.thread[t][t];
    for (int i = 0; i < ref.accesses; i++) {
        const struct access *k = &ref.access[i];

        if (!k->forgotten && k->thread != t && (k->write || a.write) && !(k->atomic && a.atomic) &&
            k->address < a.address + a.bytes && a.address < k->address + k->bytes &&
            ref.thread[t][k->thread] < k->event)
            expect(k, &a, lite);
    }
    ref.access[ref.accesses++] = a;
}

/* ---- threads that take turns ---- */

struct step {
    enum { ACCESS, ACQUIRE, RELEASE, POST, TAKE, LOAD, STORE, ALLOC, FORK, JOIN, END } what;
    uint32_t object; /* number; of FORK and JOIN the thread */
    struct access access;
};

static struct runner {
    pthread_t thread;
    sem_t go;
    bool alive, joined;
} runners[THREADS];
static sem_t done;
static struct step now_step;
static const struct rt_mode *mode;
static char memory[64 * WORDS];

static uint64_t lock_address(uint32_t n)
{
    return 0x1000 + 16 * n;
}
static uint64_t word_address(uint32_t n)
{
    return (uint64_t)(uintptr_t)&memory[64 * n];
}

static struct prod_hit hit_of(const struct access *a)
{
    return (struct prod_hit){ .address = a->address,
                              .bytes = a->bytes,
                              .site = a->site,
                              .read = !a->write,
                              .write = a->write,
                              .op = a->write ? OP_WRITE : OP_READ,
                              .pc = 0x400000 + a->site };
}

static void atomic_hit(uint32_t word, uint8_t op, uint8_t order)
{
    struct prod_hit h = { .address = word_address(word) + 32,
                          .bytes = 4,
                          .site = 99,
                          .read = op == OP_LOAD,
                          .write = op == OP_STORE,
                          .atomic = true,
                          .op = op,
                          .order = order };

    mode->hit(&h);
}

static void *run(void *arg);

static void do_step(const struct step *s)
{
    struct prod_hit h = hit_of(&s->access);

    switch (s->what) {
    case ACCESS:
        mode->hit(&h);
        break;
    case ACQUIRE:
        mode->sync(OP_ACQUIRE, lock_address(s->object));
        break;
    case RELEASE:
        mode->sync(OP_RELEASE, lock_address(s->object));
        break;
    case POST:
        mode->sync(OP_SEM_POST, lock_address(s->object));
        break;
    case TAKE:
        mode->sync(OP_SEM_WAIT, lock_address(s->object));
        break;
    case LOAD:
        atomic_hit(s->object, OP_LOAD, ORDER_ACQUIRE);
        break;
    case STORE:
        atomic_hit(s->object, OP_STORE, ORDER_RELEASE);
        break;
    case ALLOC:
        mode->alloc(word_address(s->object), 64);
        break;
    case FORK:
        mode->thread_fork(s->object);
        pthread_create(&runners[s->object].thread, NULL, run, &runners[s->object]);
        break;
    case JOIN:
        mode->thread_join(s->object);
        break;
    case END:
        mode->thread_end();
        break;
    }
}

static void *run(void *arg)
{
    struct runner *r = arg;

    own_number = (uint32_t)(r - runners);
    mode->thread_begin(own_number, 0, 0);
    for (bool going = true; going;) {
        sem_post(&done); /* of its beginning, or of the last step */
        sem_wait(&r->go);
        do_step(&now_step);
        going = now_step.what != END;
    }
    sem_post(&done);
    return NULL;
}

static void turn(uint32_t thread, struct step s)
{
    now_step = s;
    if (thread == 0) {
        do_step(&s);
    } else {
        sem_post(&runners[thread].go);
        sem_wait(&done);
    }
    if (s.what == FORK)
        sem_wait(&done);
    if (s.what == END)
        pthread_join(runners[thread].thread, NULL);
}

/* ---- a random program ---- */

static uint32_t nthreads, holder[OBJECTS]; /* + 1 */
static bool with_atomics, lite;

static uint32_t pick(uint32_t n)
{
    return (uint32_t)rand() % n;
}

static uint32_t live_count(void)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < nthreads; i++)
        n += runners[i].alive;
    return n;
}

static uint32_t some_thread(void)
{
    for (;;) {
        uint32_t t = pick(nthreads);

        if (runners[t].alive)
            return t;
    }
}

static void step_access(uint32_t t)
{
    uint32_t word = pick(WORDS), at = pick(12);
    struct access a = {
        .address = word_address(word) + at, .bytes = 1 + pick(12), .site = pick(SITES), .thread = t
    };

    a.write = a.site % 2 == 0;
    turn(t, (struct step){ .what = ACCESS, .access = a });
    ref_access(a, lite);
}

static void step_lock(uint32_t t)
{
    uint32_t o = pick(OBJECTS);

    if (holder[o] == t + 1) {
        ref_settle(t);
        join(ref.object[o], ref.thread[t]);
        turn(t, (struct step){ .what = RELEASE, .object = o });
        holder[o] = 0;
    } else if (!holder[o]) {
        ref_settle(t);
        join(ref.thread[t], ref.object[o]);
        turn(t, (struct step){ .what = ACQUIRE, .object = o });
        holder[o] = t + 1;
    }
}

static void step_sem(uint32_t t)
{
    uint32_t o = pick(OBJECTS);
    bool post = pick(2);

    ref_settle(t);
    if (post)
        join(ref.sem[o], ref.thread[t]);
    else
        join(ref.thread[t], ref.sem[o]);
    turn(t, (struct step){ .what = post ? POST : TAKE, .object = o });
}

/* An announced load is done before the thread's next event; what it reads is there by then. */
static void step_atomic(uint32_t t)
{
    uint32_t word = pick(WORDS);
    bool store = pick(2);

    ref_settle(t);
    if (store)
        join(ref.atomic[word], ref.thread[t]);
    else
        ref.pending[t] = (int)word + 1;
    turn(t, (struct step){ .what = store ? STORE : LOAD, .object = word });
}

static void step_alloc(uint32_t t)
{
    uint32_t word = pick(WORDS);
    uint64_t from = word_address(word);

    turn(t, (struct step){ .what = ALLOC, .object = word });
    for (int i = 0; i < ref.accesses; i++)
        if (ref.access[i].address >= from && ref.access[i].address < from + 64)
            ref.access[i].forgotten = true;
}

static void step_fork(uint32_t t)
{
    uint32_t child = nthreads++;

    ref_settle(t);
    join(ref.thread[child], ref.thread[t]);
    runners[child].alive = true;
    turn(t, (struct step){ .what = FORK, .object = child });
}

static void end_thread(uint32_t t)
{
    for (uint32_t o = 0; o < OBJECTS; o++)
        if (holder[o] == t + 1)
            return;
    ref_settle(t);
    turn(t, (struct step){ .what = END });
    runners[t].alive = false;
}

static void step_thread(uint32_t t)
{
    uint32_t other = pick(nthreads);

    if (pick(3) == 0 && nthreads < THREADS && live_count() < LIVE)
        step_fork(t);
    else if (t && pick(3) == 0)
        end_thread(t);
    else if (other && !runners[other].alive && !runners[other].joined) {
        ref_settle(t);
        join(ref.thread[t], ref.thread[other]);
        turn(t, (struct step){ .what = JOIN, .object = other });
        runners[other].joined = true;
    }
}

static void play(unsigned seed)
{
    srand(seed);
    memset(&ref, 0, sizeof(ref));
    memset(holder, 0, sizeof(holder));
    memset(rt_control->sighting, 0, sizeof(rt_control->sighting));
    for (int i = 0; i < THREADS; i++)
        runners[i].alive = runners[i].joined = false;
    sightings = 0;
    nthreads = 1;
    runners[0].alive = true;
    mode->forked();
    for (int i = 0; i < STEPS; i++) {
        uint32_t t = some_thread(), what = pick(20);

        if (what < 8)
            step_access(t);
        else if (what < 13)
            step_lock(t);
        else if (what < 15)
            step_sem(t);
        else if (what < 17 && with_atomics)
            step_atomic(t);
        else if (what == 17 && pick(4) == 0)
            step_alloc(t);
        else
            step_thread(t);
    }
    for (uint32_t i = 1; i < nthreads; i++)
        if (runners[i].alive) {
            turn(i, (struct step){ .what = END });
            runners[i].alive = false;
        }
}

static void compare(unsigned seed)
{
    bool got[3][3] = { { false } };

    for (uint32_t i = 0; i < sightings; i++)
        got[rt_control->sighting[i].side[0].site][rt_control->sighting[i].side[1].site] = true;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            if (got[a][b] && !ref.expected[a][b])
                fail_msg("seed %u: %d, %d is ordered, but was reported", seed, a, b);
            if (!got[a][b] && ref.expected[a][b] && !(lite && with_atomics))
                fail_msg("seed %u: %d, %d was not reported", seed, a, b);
        }
}

static void play_all(const struct rt_mode *m, enum prod_mode_kind kind, bool atomics)
{
    static unsigned seed;

    mode = m;
    lite = kind == PROD_LITEHB;
    with_atomics = atomics;
    rt_control->mode = kind;
    rt_control->generation += 2;
    mode->start(rt_control);
    for (int i = 0; i < 60; i++) {
        play(++seed);
        compare(seed);
    }
    assert_int_equal(rt_control->counter[HB_FORGOT], 0);
    assert_int_equal(rt_control->counter[HB_NO_THREAD], 0);
}

static void fullhb_reports_what_is_unordered(void **state)
{
    (void)state;
    play_all(&mode_fullhb, PROD_FULLHB, false);
}

static void fullhb_knows_atomics(void **state)
{
    (void)state;
    play_all(&mode_fullhb, PROD_FULLHB, true);
}

static void litehb_reports_what_is_unordered_with_s1_first(void **state)
{
    (void)state;
    play_all(&mode_litehb, PROD_LITEHB, false);
}

static void litehb_reports_nothing_that_atomics_order(void **state)
{
    (void)state;
    play_all(&mode_litehb, PROD_LITEHB, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fullhb_reports_what_is_unordered),
        cmocka_unit_test(fullhb_knows_atomics),
        cmocka_unit_test(litehb_reports_what_is_unordered_with_s1_first),
        cmocka_unit_test(litehb_reports_nothing_that_atomics_order),
    };

    rt_control = calloc(1, sizeof(*rt_control));
    rt_control->generation = 2;
    set_pair();
    sem_init(&done, 0, 0);
    for (int i = 0; i < THREADS; i++)
        sem_init(&runners[i].go, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
