// What both sections count seems to keep them in order, but nothing depends on it.
// predicted: a_count b_count
// predicted: a_bytes b_bytes
// predicted: a_struct b_struct
// predicted: a_double b_double
// predicted: a_narrow b_narrow
// predicted: a_hash b_hash
// predicted: a_bits b_bits
// predicted: a_average b_average
// predicted: a_histogram b_histogram
// predicted: a_toggle b_toggle
// predicted: a_loop b_loop
// predicted: a_helper b_helper
// predicted: a_sections b_sections
// predicted: a_nested b_nested
// predicted: a_writers b_writers
// predicted: a_atomic b_atomic
// predicted: a_unlocked b_unlocked
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

/* ---- a counter ---- */

int x_count;
static int hits;

THREAD(first_count)
{
    x_count = 1; // [a_count]
    pthread_mutex_lock(&lock);
    hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_count)
{
    later();
    pthread_mutex_lock(&lock);
    hits++;
    pthread_mutex_unlock(&lock);
    x_count = 2; // [b_count]
    return NULL;
}

/* ---- two statistics ---- */

int x_bytes;
static long calls, bytes;

THREAD(first_bytes)
{
    x_bytes = 1; // [a_bytes]
    pthread_mutex_lock(&lock);
    calls++;
    bytes += 100;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_bytes)
{
    later();
    pthread_mutex_lock(&lock);
    calls++;
    bytes += 100;
    pthread_mutex_unlock(&lock);
    x_bytes = 2; // [b_bytes]
    return NULL;
}

/* ---- statistics in a structure ---- */

int x_struct;
static struct stats {
    long n, total;
} stats;
static struct stats *volatile the_stats = &stats;

THREAD(first_struct)
{
    x_struct = 1; // [a_struct]
    pthread_mutex_lock(&lock);
    struct stats *s = the_stats;
    s->n++;
    s->total += 7;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_struct)
{
    later();
    pthread_mutex_lock(&lock);
    struct stats *s = the_stats;
    s->n++;
    s->total += 7;
    pthread_mutex_unlock(&lock);
    x_struct = 2; // [b_struct]
    return NULL;
}

/* ---- floating point ---- */

int x_double;
static double sum, squares;

THREAD(first_double)
{
    x_double = 1; // [a_double]
    pthread_mutex_lock(&lock);
    sum += 1.5;
    squares += 2.25;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_double)
{
    later();
    pthread_mutex_lock(&lock);
    sum += 1.5;
    squares += 2.25;
    pthread_mutex_unlock(&lock);
    x_double = 2; // [b_double]
    return NULL;
}

/* ---- narrow counters ---- */

int x_narrow;
static unsigned char small;
static short middle;

THREAD(first_narrow)
{
    x_narrow = 1; // [a_narrow]
    pthread_mutex_lock(&lock);
    small++;
    middle += 3;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_narrow)
{
    later();
    pthread_mutex_lock(&lock);
    small++;
    middle += 3;
    pthread_mutex_unlock(&lock);
    x_narrow = 2; // [b_narrow]
    return NULL;
}

/* ---- a rolling hash ---- */

int x_hash;
static unsigned hash, check;

THREAD(first_hash)
{
    x_hash = 1; // [a_hash]
    pthread_mutex_lock(&lock);
    hash = hash * 31 + 7;
    check ^= 0x55aa;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_hash)
{
    later();
    pthread_mutex_lock(&lock);
    hash = hash * 31 + 7;
    check ^= 0x55aa;
    pthread_mutex_unlock(&lock);
    x_hash = 2; // [b_hash]
    return NULL;
}

/* ---- a set of bits ---- */

int x_bits;
static unsigned seen;

THREAD(first_bits)
{
    x_bits = 1; // [a_bits]
    pthread_mutex_lock(&lock);
    seen |= 4;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_bits)
{
    later();
    pthread_mutex_lock(&lock);
    seen |= 4;
    pthread_mutex_unlock(&lock);
    x_bits = 2; // [b_bits]
    return NULL;
}

/* ---- a moving average ---- */

int x_average;
static unsigned average;

THREAD(first_average)
{
    x_average = 1; // [a_average]
    pthread_mutex_lock(&lock);
    average = (average * 7 + 80) / 8;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_average)
{
    later();
    pthread_mutex_lock(&lock);
    average = (average * 7 + 80) / 8;
    pthread_mutex_unlock(&lock);
    x_average = 2; // [b_average]
    return NULL;
}

/* ---- a histogram ---- */

int x_histogram;
static int histogram[8];
static volatile int sample = 5;

THREAD(first_histogram)
{
    x_histogram = 1; // [a_histogram]
    pthread_mutex_lock(&lock);
    histogram[sample & 7]++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_histogram)
{
    later();
    pthread_mutex_lock(&lock);
    histogram[sample & 7]++;
    pthread_mutex_unlock(&lock);
    x_histogram = 2; // [b_histogram]
    return NULL;
}

/* ---- a flag that is turned over ---- */

int x_toggle;
static unsigned char phase;

THREAD(first_toggle)
{
    x_toggle = 1; // [a_toggle]
    pthread_mutex_lock(&lock);
    phase = !phase;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_toggle)
{
    later();
    pthread_mutex_lock(&lock);
    phase = !phase;
    pthread_mutex_unlock(&lock);
    x_toggle = 2; // [b_toggle]
    return NULL;
}

/* ---- several in a row ---- */

int x_loop;
static int rounds[4];

THREAD(first_loop)
{
    x_loop = 1; // [a_loop]
    pthread_mutex_lock(&lock);
    rounds[0]++;
    rounds[1] += 2;
    rounds[2]--;
    rounds[3] ^= 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_loop)
{
    later();
    pthread_mutex_lock(&lock);
    rounds[0]++;
    rounds[1] += 2;
    rounds[2]--;
    rounds[3] ^= 1;
    pthread_mutex_unlock(&lock);
    x_loop = 2; // [b_loop]
    return NULL;
}

/* ---- a function that counts ---- */

int x_helper;
static struct helped {
    long n;
} helped;

__attribute__((noinline)) static void bump(struct helped *h)
{
    h->n++;
}

THREAD(first_helper)
{
    x_helper = 1; // [a_helper]
    pthread_mutex_lock(&lock);
    bump(&helped);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_helper)
{
    later();
    pthread_mutex_lock(&lock);
    bump(&helped);
    pthread_mutex_unlock(&lock);
    x_helper = 2; // [b_helper]
    return NULL;
}

/* ---- two sections each ---- */

int x_sections;
static int one, two;

THREAD(first_sections)
{
    x_sections = 1; // [a_sections]
    pthread_mutex_lock(&lock);
    one++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    two++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_sections)
{
    later();
    pthread_mutex_lock(&lock);
    one++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    two++;
    pthread_mutex_unlock(&lock);
    x_sections = 2; // [b_sections]
    return NULL;
}

/* ---- sections in sections ---- */

int x_nested;
static int nested;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

THREAD(first_nested)
{
    x_nested = 1; // [a_nested]
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&inner);
    nested++;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_nested)
{
    later();
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&inner);
    nested++;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&lock);
    x_nested = 2; // [b_nested]
    return NULL;
}

/* ---- a readers-writer lock ---- */

int x_writers;
static int written;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

THREAD(first_writers)
{
    x_writers = 1; // [a_writers]
    pthread_rwlock_wrlock(&rwlock);
    written++;
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

THREAD(second_writers)
{
    later();
    pthread_rwlock_wrlock(&rwlock);
    written++;
    pthread_rwlock_unlock(&rwlock);
    x_writers = 2; // [b_writers]
    return NULL;
}

/* ---- a relaxed atomic counter ---- */

int x_atomic;
static int relaxed;

THREAD(first_atomic)
{
    x_atomic = 1; // [a_atomic]
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&relaxed, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_atomic)
{
    later();
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&relaxed, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    x_atomic = 2; // [b_atomic]
    return NULL;
}

/* ---- a counter that races itself, too ---- */

int x_unlocked;
static int sloppy;

THREAD(first_unlocked)
{
    x_unlocked = 1; // [a_unlocked]
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&sloppy, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_unlocked)
{
    later();
    pthread_mutex_lock(&lock);
    __atomic_fetch_or(&sloppy, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    x_unlocked = 2; // [b_unlocked]
    return NULL;
}

int main(void)
{
    run_two(first_count, second_count);
    run_two(first_bytes, second_bytes);
    run_two(first_struct, second_struct);
    run_two(first_double, second_double);
    run_two(first_narrow, second_narrow);
    run_two(first_hash, second_hash);
    run_two(first_bits, second_bits);
    run_two(first_average, second_average);
    run_two(first_histogram, second_histogram);
    run_two(first_toggle, second_toggle);
    run_two(first_loop, second_loop);
    run_two(first_helper, second_helper);
    run_two(first_sections, second_sections);
    run_two(first_nested, second_nested);
    run_two(first_writers, second_writers);
    run_two(first_atomic, second_atomic);
    run_two(first_unlocked, second_unlocked);
    return 0;
}
