// Lists, numbers and time stamps that sections leave behind; neither looks at them.
// predicted: a_push b_push
// predicted: a_free b_free
// predicted: a_id b_id
// predicted: a_clock b_clock
// predicted: a_bump b_bump
// predicted: a_stamps b_stamps
// predicted: a_swap b_swap
// predicted: a_get b_get
// predicted: a_shadow b_shadow
// predicted: a_lists b_lists
// predicted: a_spin b_spin
// flags: -O1
// flags: -O0
// flags: -O2
#include "prog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct node {
    struct node *next, *prev;
    long id, used;
    char *at;
};

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* Memory of the thread's own that the compiler knows nothing of. */
__attribute__((noinline)) static struct node *make(void)
{
    struct node *n = calloc(1, sizeof(*n));
    __asm__("" : "+r"(n));
    return n;
}

/* ---- a list that is pushed to ---- */

int x_push;
static struct node *head;

THREAD(first_push)
{
    x_push = 1; // [a_push]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = head;
    head = n;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_push)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = head;
    head = n;
    pthread_mutex_unlock(&lock);
    x_push = 2; // [b_push]
    return NULL;
}

/* ---- a free list with its length ---- */

int x_free;
static struct node *unused;
static long nunused;

THREAD(first_free)
{
    x_free = 1; // [a_free]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = unused;
    unused = n;
    nunused++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_free)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = unused;
    unused = n;
    nunused++;
    pthread_mutex_unlock(&lock);
    x_free = 2; // [b_free]
    return NULL;
}

/* ---- numbers for objects ---- */

int x_id;
static long next_id;

THREAD(first_id)
{
    x_id = 1; // [a_id]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->id = next_id++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_id)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->id = next_id++;
    pthread_mutex_unlock(&lock);
    x_id = 2; // [b_id]
    return NULL;
}

/* ---- when a cache entry was used last ---- */

int x_clock;
static long now;

THREAD(first_clock)
{
    x_clock = 1; // [a_clock]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->used = ++now;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_clock)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->used = ++now;
    pthread_mutex_unlock(&lock);
    x_clock = 2; // [b_clock]
    return NULL;
}

/* ---- a pool of memory, not used yet ---- */

int x_bump;
static char pool[256], *rest = pool;

THREAD(first_bump)
{
    x_bump = 1; // [a_bump]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->at = rest;
    rest += 16;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_bump)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->at = rest;
    rest += 16;
    pthread_mutex_unlock(&lock);
    x_bump = 2; // [b_bump]
    return NULL;
}

/* ---- time stamps, the last one kept ---- */

int x_stamps;
static long last, before_last;

THREAD(first_stamps)
{
    x_stamps = 1; // [a_stamps]
    pthread_mutex_lock(&lock);
    before_last = last;
    last = 1000;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_stamps)
{
    later();
    pthread_mutex_lock(&lock);
    before_last = last;
    last = 2000;
    pthread_mutex_unlock(&lock);
    x_stamps = 2; // [b_stamps]
    return NULL;
}

/* ---- two values that change places ---- */

int x_swap;
static int left = 1, right = 2;

THREAD(first_swap)
{
    x_swap = 1; // [a_swap]
    pthread_mutex_lock(&lock);
    int t = left;
    left = right;
    right = t;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_swap)
{
    later();
    pthread_mutex_lock(&lock);
    int t = left;
    left = right;
    right = t;
    pthread_mutex_unlock(&lock);
    x_swap = 2; // [b_swap]
    return NULL;
}

/* ---- a reference count that only grows ---- */

int x_get;
static struct object {
    int references;
} object;
static struct object *volatile the_object = &object;

THREAD(first_get)
{
    x_get = 1; // [a_get]
    pthread_mutex_lock(&lock);
    the_object->references++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_get)
{
    later();
    pthread_mutex_lock(&lock);
    the_object->references++;
    pthread_mutex_unlock(&lock);
    x_get = 2; // [b_get]
    return NULL;
}

/* ---- a copy of a counter ---- */

int x_shadow;
static int served, shown;

THREAD(first_shadow)
{
    x_shadow = 1; // [a_shadow]
    pthread_mutex_lock(&lock);
    shown = served;
    served++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_shadow)
{
    later();
    pthread_mutex_lock(&lock);
    shown = served;
    served++;
    pthread_mutex_unlock(&lock);
    x_shadow = 2; // [b_shadow]
    return NULL;
}

/* ---- an entry on two lists ---- */

int x_lists;
static struct node *all, *newest;

THREAD(first_lists)
{
    x_lists = 1; // [a_lists]
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = all;
    all = n;
    n->prev = newest;
    newest = n;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_lists)
{
    later();
    struct node *n = make();
    pthread_mutex_lock(&lock);
    n->next = all;
    all = n;
    n->prev = newest;
    newest = n;
    pthread_mutex_unlock(&lock);
    x_lists = 2; // [b_lists]
    return NULL;
}

/* ---- a spin lock ---- */

int x_spin;
static pthread_spinlock_t spin;
static int spun;

__attribute__((constructor)) static void begin(void)
{
    pthread_spin_init(&spin, 0);
}

THREAD(first_spin)
{
    x_spin = 1; // [a_spin]
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    return NULL;
}

THREAD(second_spin)
{
    later();
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    x_spin = 2; // [b_spin]
    return NULL;
}

int main(void)
{
    run_two(first_push, second_push);
    run_two(first_free, second_free);
    run_two(first_id, second_id);
    run_two(first_clock, second_clock);
    run_two(first_bump, second_bump);
    run_two(first_stamps, second_stamps);
    run_two(first_swap, second_swap);
    run_two(first_get, second_get);
    run_two(first_shadow, second_shadow);
    run_two(first_lists, second_lists);
    run_two(first_spin, second_spin);
    return 0;
}
