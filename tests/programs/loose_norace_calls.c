// Behind calls, copies and memory of its own the value decides: no race.
// flags: -O1
// flags: -O0
// flags: -O2
#include "prog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- what a function computes ---- */

int x_value;
static long v_total;

__attribute__((noinline)) static long plus(long a, long b)
{
    return a + b;
}

THREAD(first_value)
{
    x_value = 1;
    pthread_mutex_lock(&lock);
    v_total = plus(v_total, 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_value)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    c = (v_total = plus(v_total, 7)) > 7;
    pthread_mutex_unlock(&lock);
    if (c)
        x_value = 2;
    return NULL;
}

/* ---- what a function stores ---- */

int x_store;
static long s_total;

__attribute__((noinline)) static void put(long *p, long v)
{
    *p = v;
}

THREAD(first_store)
{
    x_store = 1;
    pthread_mutex_lock(&lock);
    put(&s_total, s_total + 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_store)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    put(&s_total, s_total + 7);
    c = s_total > 7;
    pthread_mutex_unlock(&lock);
    if (c)
        x_store = 2;
    return NULL;
}

/* ---- by way of a local variable of the caller ---- */

int x_out;
static long o_hits, o_shown;

__attribute__((noinline)) static void get(long *to)
{
    *to = o_hits;
}

THREAD(first_out)
{
    x_out = 1;
    pthread_mutex_lock(&lock);
    long o;
    get(&o);
    o_shown = o;
    o_hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_out)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    long o;
    get(&o);
    o_hits++;
    c = o > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_out = 2;
    return NULL;
}

/* ---- a local variable that a function reads ---- */

int x_lent;
static long l_hits, l_shown;

__attribute__((noinline)) static long twice(const long *of)
{
    return *of * 2;
}

THREAD(first_lent)
{
    x_lent = 1;
    pthread_mutex_lock(&lock);
    long mine = l_hits++;
    l_shown = twice(&mine);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_lent)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    long mine = l_hits++;
    c = twice(&mine) > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_lent = 2;
    return NULL;
}

/* ---- through functions that call functions ---- */

int x_far;
static long f_hits, f_last;

__attribute__((noinline)) static long inner_of(long v)
{
    return v ^ 5;
}

__attribute__((noinline)) static long outer_of(long v)
{
    return inner_of(v) + 1;
}

__attribute__((noinline)) static long take(void)
{
    return outer_of(f_hits++);
}

THREAD(first_far)
{
    x_far = 1;
    pthread_mutex_lock(&lock);
    f_last = take();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_far)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    c = take() != 6;
    pthread_mutex_unlock(&lock);
    if (c)
        x_far = 2;
    return NULL;
}

/* ---- a copy of statistics ---- */

int x_copy;
static struct figures {
    long n, m, k;
    char text[24];
} current, shown;

THREAD(first_copy)
{
    x_copy = 1;
    pthread_mutex_lock(&lock);
    memcpy(&shown, &current, sizeof(shown));
    current.n++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_copy)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    memcpy(&shown, &current, sizeof(shown));
    current.n++;
    c = shown.n > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_copy = 2;
    return NULL;
}

/* ---- a volatile counter ---- */

int x_volatile;
static volatile long w_hits;

THREAD(first_volatile)
{
    x_volatile = 1;
    pthread_mutex_lock(&lock);
    w_hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_volatile)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    w_hits++;
    c = w_hits > 1;
    pthread_mutex_unlock(&lock);
    if (c)
        x_volatile = 2;
    return NULL;
}

/* ---- ten bytes ---- */

int x_ten;
static long double t_sum;

THREAD(first_ten)
{
    x_ten = 1;
    pthread_mutex_lock(&lock);
    t_sum += 1.5L;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_ten)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    t_sum += 1.5L;
    c = t_sum > 2;
    pthread_mutex_unlock(&lock);
    if (c)
        x_ten = 2;
    return NULL;
}

/* ---- a thread-local copy ---- */

int x_own;
static long c_hits;
static __thread long mine_own;

THREAD(first_own)
{
    x_own = 1;
    pthread_mutex_lock(&lock);
    mine_own = c_hits;
    c_hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_own)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    mine_own = c_hits;
    c_hits++;
    c = mine_own > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_own = 2;
    return NULL;
}

/* ---- returned to one that decides ---- */

int x_getter;
static long g_hits;

__attribute__((noinline)) static long step(void)
{
    return g_hits++;
}

THREAD(first_getter)
{
    x_getter = 1;
    pthread_mutex_lock(&lock);
    (void)step();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_getter)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    long seen = step();
    c = seen > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_getter = 2;
    return NULL;
}

/* ---- by way of memory of its own ---- */

int x_heap;
static long h_hits;

__attribute__((noinline)) static void keep(long *p)
{
    *p = h_hits++;
}

__attribute__((noinline)) static int is_set(const long *p)
{
    return *p > 0;
}

THREAD(first_heap)
{
    x_heap = 1;
    pthread_mutex_lock(&lock);
    long *p = malloc(sizeof(*p));
    keep(p);
    free(p);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_heap)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    long *p = malloc(sizeof(*p));
    keep(p);
    c = is_set(p);
    free(p);
    pthread_mutex_unlock(&lock);
    if (c)
        x_heap = 2;
    return NULL;
}

/* ---- by a pointer to the function ---- */

int x_pointer;
static long p_hits;

__attribute__((noinline)) static long again(void)
{
    return p_hits++;
}
static long (*volatile by)(void) = again;

THREAD(first_pointer)
{
    x_pointer = 1;
    pthread_mutex_lock(&lock);
    (void)by();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_pointer)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    c = by() > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_pointer = 2;
    return NULL;
}

/* ---- stored by a function, looked at elsewhere ---- */

int x_later;
static long e_hits, e_copy;

__attribute__((noinline)) static void note(long v)
{
    e_copy = v;
}

__attribute__((noinline)) static int noted(void)
{
    return e_copy > 0;
}

THREAD(first_later)
{
    x_later = 1;
    pthread_mutex_lock(&lock);
    note(e_hits++);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_later)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    note(e_hits++);
    c = noted();
    pthread_mutex_unlock(&lock);
    if (c)
        x_later = 2;
    return NULL;
}

/* ---- by a function that other files may call ---- */

int x_known;
static long k_hits;
long known_to_all(void);

__attribute__((noinline)) long known_to_all(void)
{
    return k_hits++;
}

THREAD(first_known)
{
    x_known = 1;
    pthread_mutex_lock(&lock);
    (void)known_to_all();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_known)
{
    int c = 0;
    later();
    pthread_mutex_lock(&lock);
    c = known_to_all() > 0;
    pthread_mutex_unlock(&lock);
    if (c)
        x_known = 2;
    return NULL;
}

int main(void)
{
    run_two(first_value, second_value);
    run_two(first_store, second_store);
    run_two(first_out, second_out);
    run_two(first_lent, second_lent);
    run_two(first_far, second_far);
    run_two(first_copy, second_copy);
    run_two(first_volatile, second_volatile);
    run_two(first_ten, second_ten);
    run_two(first_own, second_own);
    run_two(first_getter, second_getter);
    run_two(first_heap, second_heap);
    run_two(first_pointer, second_pointer);
    run_two(first_later, second_later);
    run_two(first_known, second_known);
    return 0;
}
