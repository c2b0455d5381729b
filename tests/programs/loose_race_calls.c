// What both sections count goes through calls, copies and memory of their own, and decides nothing.
// predicted: a_value b_value
// predicted: a_store b_store
// predicted: a_out b_out
// predicted: a_lent b_lent
// predicted: a_far b_far
// predicted: a_copy b_copy
// predicted: a_volatile b_volatile
// predicted: a_ten b_ten
// predicted: a_own b_own
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
    x_value = 1; // [a_value]
    pthread_mutex_lock(&lock);
    v_total = plus(v_total, 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_value)
{
    later();
    pthread_mutex_lock(&lock);
    v_total = plus(v_total, 7);
    pthread_mutex_unlock(&lock);
    x_value = 2; // [b_value]
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
    x_store = 1; // [a_store]
    pthread_mutex_lock(&lock);
    put(&s_total, s_total + 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_store)
{
    later();
    pthread_mutex_lock(&lock);
    put(&s_total, s_total + 7);
    pthread_mutex_unlock(&lock);
    x_store = 2; // [b_store]
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
    x_out = 1; // [a_out]
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
    later();
    pthread_mutex_lock(&lock);
    long o;
    get(&o);
    o_shown = o;
    o_hits++;
    pthread_mutex_unlock(&lock);
    x_out = 2; // [b_out]
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
    x_lent = 1; // [a_lent]
    pthread_mutex_lock(&lock);
    long mine = l_hits++;
    l_shown = twice(&mine);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_lent)
{
    later();
    pthread_mutex_lock(&lock);
    long mine = l_hits++;
    l_shown = twice(&mine);
    pthread_mutex_unlock(&lock);
    x_lent = 2; // [b_lent]
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
    x_far = 1; // [a_far]
    pthread_mutex_lock(&lock);
    f_last = take();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_far)
{
    later();
    pthread_mutex_lock(&lock);
    f_last = take();
    pthread_mutex_unlock(&lock);
    x_far = 2; // [b_far]
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
    x_copy = 1; // [a_copy]
    pthread_mutex_lock(&lock);
    memcpy(&shown, &current, sizeof(shown));
    current.n++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_copy)
{
    later();
    pthread_mutex_lock(&lock);
    memcpy(&shown, &current, sizeof(shown));
    current.n++;
    pthread_mutex_unlock(&lock);
    x_copy = 2; // [b_copy]
    return NULL;
}

/* ---- a volatile counter ---- */

int x_volatile;
static volatile long w_hits;

THREAD(first_volatile)
{
    x_volatile = 1; // [a_volatile]
    pthread_mutex_lock(&lock);
    w_hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_volatile)
{
    later();
    pthread_mutex_lock(&lock);
    w_hits++;
    pthread_mutex_unlock(&lock);
    x_volatile = 2; // [b_volatile]
    return NULL;
}

/* ---- ten bytes ---- */

int x_ten;
static long double t_sum;

THREAD(first_ten)
{
    x_ten = 1; // [a_ten]
    pthread_mutex_lock(&lock);
    t_sum += 1.5L;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_ten)
{
    later();
    pthread_mutex_lock(&lock);
    t_sum += 1.5L;
    pthread_mutex_unlock(&lock);
    x_ten = 2; // [b_ten]
    return NULL;
}

/* ---- a thread-local copy ---- */

int x_own;
static long c_hits;
static __thread long mine_own;

THREAD(first_own)
{
    x_own = 1; // [a_own]
    pthread_mutex_lock(&lock);
    mine_own = c_hits;
    c_hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_own)
{
    later();
    pthread_mutex_lock(&lock);
    mine_own = c_hits;
    c_hits++;
    pthread_mutex_unlock(&lock);
    x_own = 2; // [b_own]
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
    return 0;
}
