/* forcing.c - a scheduler inside the program: one thread runs at a time, and we say which
 *
 * The program is compiled with -fsanitize=thread, which puts a call before each access, and linked
 * with this file instead of ThreadSanitizer; pthread functions come here by --wrap. At each access
 * and each pthread call a thread stops (a point), with what it is about to do. Locks, conditions,
 * barriers and semaphores are modelled, never taken: nothing blocks outside of this file.
 *
 *   FORCE_FOLLOW=FILE   the points are passed in the order of FILE's steps. When all but two are
 *                       done, both threads stand before their accesses: a race, or not
 *   FORCE_EXPLORE=N     N random schedules, each in a child process; prints the pairs of points
 *                       that stood side by side and conflict. What is printed is a race
 *
 * The file (written by `force`): "site PC ID" (return address of a call to us, which place of the
 * source it is), "step THREAD OP ID OTHER" (ID -1: any; OTHER: the thread that a create makes, -1
 * for none, -2 in new code). Memory is sequentially consistent here. Not modelled: rwlocks,
 * trylock, cancellation, signals.
 */
#include "forcing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OBJECTS = 256, MAX_SITES = 1024, MAX_POINTS = 400000 };

static const char *const op_names[] = { "begin",  "read",  "write", "atomic", "lock",
                                        "unlock", "wait",  "wake",  "create", "join",
                                        "arrive", "leave", "post",  "take",   "end" };

struct step {
    int thread, op, site;
    int other; /* the thread that a create makes; NEW: code that was not recorded */
};

/* The threads that new code creates do nothing in the schedule, so it has no steps for them. */
enum { NEW = -2 };

struct task tasks[MAX_TASKS];
int ntasks;
_Thread_local struct task *self;
static int named[MAX_TASKS]; /* follow: trace thread -> task, -1: not there yet */
static struct object objects[MAX_OBJECTS];
static int nobjects;
static struct site {
    uintptr_t pc;
    int id;
} sites[MAX_SITES];
static int nsites;
static struct step *steps;
static int nsteps, at;
static bool follows, explores;
static unsigned long seed;
static unsigned stickiness;
static long points;
static unsigned char (*met)[MAX_SITES]; /* explore: shared with the children */

/* The verdict of a forced run: the only line that `force` reads. */
static void verdict(const char *word, const char *why, int step)
{
    char line[200];
    int n = snprintf(line, sizeof line, "force: %s step %d of %d: %s\n", word, step, nsteps, why);

    if (write(2, line, (size_t)n) < 0)
        _exit(3);
    _exit(0);
}

void give_up(const char *why)
{
    verdict("stuck", why, at);
}

struct object *object_of(const void *address)
{
    for (int i = 0; i < nobjects; i++)
        if (objects[i].address == address)
            return &objects[i];
    if (nobjects == MAX_OBJECTS)
        give_up("too many objects");
    objects[nobjects].address = address;
    return &objects[nobjects++];
}

static int site_of(const void *pc)
{
    int low = 0, high = nsites;

    while (low < high) {
        int middle = (low + high) / 2;

        if (sites[middle].pc < (uintptr_t)pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < nsites && sites[low].pc == (uintptr_t)pc ? sites[low].id : -1;
}

static bool is_access(const struct task *t)
{
    return t->op == READ || t->op == WRITE || t->op == ATOMIC;
}

static bool conflict(const struct task *a, const struct task *b)
{
    return is_access(a) && is_access(b) && (a->writes || b->writes) &&
           !(a->op == ATOMIC && b->op == ATOMIC) && a->address < b->address + b->size &&
           b->address < a->address + a->size;
}

static bool enabled(const struct task *t)
{
    switch (t->op) {
    case LOCK:
        return !object_of(t->address)->owner;
    case WAIT:
        return t->woken;
    case JOIN:
        return t->other->op == ENDED;
    case LEAVE:
        return object_of(t->address)->round != t->round;
    case TAKE:
        return object_of(t->address)->count > 0;
    case ENDED:
        return false;
    default:
        return true;
    }
}

struct task *task_new(void)
{
    struct task *t = &tasks[ntasks++];

    if (ntasks == MAX_TASKS)
        give_up("too many threads");
    __real_sem_init(&t->go, 0, 0);
    t->op = BEGIN;
    t->site = -1;
    return t;
}

/* ---- following a schedule ---- */

static void judge(const struct task *a, const struct task *b)
{
    if (conflict(a, b))
        verdict("confirmed", "both threads stand before their accesses", nsteps);
    verdict("refuted",
            is_access(a) && is_access(b) ? "the accesses do not conflict" : "not at accesses",
            nsteps);
}

static bool fits(const struct task *t, const struct step *s)
{
    return (int)t->op == s->op && (s->site < 0 || t->site == s->site);
}

/* A point that no step speaks of is passed as soon as its thread is needed. */
static bool is_between(const struct task *t, const struct step *s)
{
    if (t->op == ENDED || fits(t, s))
        return false;
    return t->op == BEGIN || t->site < 0 || t->loose ||
           ((t->op == CREATE || t->op == WAKE) && s->other == NEW);
}

static struct task *wanted(int step)
{
    int task = named[steps[step].thread];

    if (task < 0)
        verdict("refuted", "the thread has not been created", step);
    return &tasks[task];
}

static void diverged(const struct task *t, int step)
{
    char text[120];

    snprintf(text, sizeof text, "thread %d is at %s site %d, not at %s site %d", steps[step].thread,
             op_names[t->op], t->site, op_names[steps[step].op], steps[step].site);
    verdict("refuted", text, step);
}

/* Who runs next. Past the last step but two, both racing threads are brought to their points. */
static struct task *next_step(void)
{
    if (at < nsteps - 2) {
        struct task *t = wanted(at);

        if (is_between(t, &steps[at]))
            return t;
        if (!fits(t, &steps[at]))
            diverged(t, at);
        if (t->op != WAIT && !enabled(t)) /* a wait may end without cause */
            verdict("refuted", "the thread would block", at);
        at++;
        return t;
    }
    for (int i = nsteps - 2; i < nsteps; i++) {
        struct task *t = wanted(i);

        if (is_between(t, &steps[i]))
            return t;
        if (!fits(t, &steps[i]))
            diverged(t, i);
    }
    judge(wanted(nsteps - 2), wanted(nsteps - 1));
    return NULL;
}

/* The thread that the step just passed creates. */
void name_thread(const struct task *t)
{
    if (follows && at > 0 && steps[at - 1].op == CREATE && steps[at - 1].other >= 0)
        named[steps[at - 1].other] = (int)(t - tasks);
}

/* ---- random schedules ---- */

unsigned chance(void)
{
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(seed >> 33);
}

static void note_meetings(void)
{
    for (int i = 0; i < ntasks; i++)
        if (&tasks[i] != self && tasks[i].site >= 0 && self->site >= 0 && conflict(&tasks[i], self))
            met[tasks[i].site][self->site] = met[self->site][tasks[i].site] = 1;
}

static struct task *next_random(void)
{
    struct task *ready[MAX_TASKS];
    unsigned n = 0;

    note_meetings();
    if (++points > MAX_POINTS)
        _exit(0);
    if (enabled(self) && chance() % 100 < stickiness)
        return self;
    for (int i = 0; i < ntasks; i++)
        if (enabled(&tasks[i]))
            ready[n++] = &tasks[i];
    if (n == 0)
        _exit(0); /* a deadlock ends the run */
    return ready[chance() % n];
}

/* ---- points ---- */

void run_next(void)
{
    struct task *me = self, *t = explores ? next_random() : next_step();

    if (t == me)
        return;
    __real_sem_post(&t->go);
    if (me->op == ENDED)
        return;
    while (__real_sem_wait(&me->go) != 0)
        ;
}

void reach(enum op op, const void *pc, const void *address, size_t size, bool writes)
{
    if (!self)
        return; /* neither follows nor explores, or before main */
    self->op = op;
    self->site = site_of(pc);
    self->address = address;
    self->size = size;
    self->writes = writes;
    run_next();
}

void reach_half(enum op op, const void *pc, const void *address, size_t size, bool writes)
{
    if (self)
        self->loose = true;
    reach(op, pc, address, size, writes);
    if (self)
        self->loose = false;
}

/* ---- the start ---- */

static int by_pc(const void *a, const void *b)
{
    const struct site *x = a, *y = b;

    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[200], *p;
    size_t room = 1000;

    if (!f || !(steps = malloc(room * sizeof *steps)))
        verdict("stuck", "cannot read the schedule", 0);
    while (fgets(line, sizeof line, f)) {
        struct step s;
        struct site place;

        if (sscanf(line, "site %p %d", (void **)&p, &place.id) == 2 && nsites < MAX_SITES) {
            place.pc = (uintptr_t)p;
            sites[nsites++] = place;
        } else if (sscanf(line, "step %d %d %d %d", &s.thread, &s.op, &s.site, &s.other) == 4) {
            if ((size_t)nsteps == room && !(steps = realloc(steps, (room *= 2) * sizeof *steps)))
                verdict("stuck", "no memory", 0);
            steps[nsteps++] = s;
        }
    }
    fclose(f);
    qsort(sites, (size_t)nsites, sizeof *sites, by_pc);
}

static void start(void)
{
    memset(named, -1, sizeof named);
    self = task_new();
    self->handle = pthread_self();
    named[0] = 0;
    alarm(20); /* an endless loop of the program's */
}

int __real_main(int argc, char **argv);

static int explore(unsigned long runs, int argc, char **argv)
{
    int status;

    met = mmap(NULL, sizeof *met * MAX_SITES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
               -1, 0);
    explores = true;
    for (unsigned long i = 1; i <= runs && met != MAP_FAILED; i++) {
        pid_t child = fork();

        if (child == 0) {
            static const unsigned kinds[] = { 98, 90, 60, 20 };

            seed = i * 0x9e3779b97f4a7c15UL;
            stickiness = kinds[i % 4];
            start();
            _exit(__real_main(argc, argv));
        }
        waitpid(child, &status, 0);
    }
    for (int i = 0; i < MAX_SITES; i++)
        for (int k = i; k < MAX_SITES; k++)
            if (met[i][k])
                fprintf(stderr, "met %d %d\n", i, k);
    return 0;
}

int __wrap_main(int argc, char **argv)
{
    const char *file = getenv("FORCE_FOLLOW"), *runs = getenv("FORCE_EXPLORE");

    if (!file)
        return __real_main(argc, argv);
    read_file(file);
    if (runs)
        return explore(strtoul(runs, NULL, 10), argc, argv);
    follows = true;
    start();
    __real_main(argc, argv);
    if (at < nsteps)
        verdict("refuted", "main returned", at);
    return 0;
}
