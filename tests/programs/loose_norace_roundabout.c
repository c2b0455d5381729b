// The same as loose_norace_decides.c, in roundabout ways.
// flags: -O1
// flags: -O0
// flags: -O2
#include "prog.h"

#include <setjmp.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- by way of a volatile variable ---- */

int x_volatile;
static int fast;
static volatile int slow;

THREAD(first_volatile)
{
    x_volatile = 1;
    pthread_mutex_lock(&lock);
    fast++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_volatile)
{
    later();
    pthread_mutex_lock(&lock);
    slow = fast;
    fast++;
    pthread_mutex_unlock(&lock);
    if (slow)
        x_volatile = 2;
    return NULL;
}

/* ---- through assembly ---- */

int x_assembly;
static int input;

THREAD(first_assembly)
{
    x_assembly = 1;
    pthread_mutex_lock(&lock);
    input++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_assembly)
{
    later();
    pthread_mutex_lock(&lock);
    int in = input++, out;
    __asm__("movl %1, %0" : "=r"(out) : "r"(in));
    pthread_mutex_unlock(&lock);
    if (out)
        x_assembly = 2;
    return NULL;
}

/* ---- longjmp ---- */

int x_jump;
static int jumped;

THREAD(first_jump)
{
    x_jump = 1;
    pthread_mutex_lock(&lock);
    jumped++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_jump)
{
    later();
    pthread_mutex_lock(&lock);
    int to = jumped++;
    pthread_mutex_unlock(&lock);
    jmp_buf back;
    int came = setjmp(back);
    if (!came)
        longjmp(back, to + 1);
    if (came > 1)
        x_jump = 2;
    return NULL;
}

/* ---- errno ---- */

int x_errno;
static int fault;

THREAD(first_errno)
{
    x_errno = 1;
    pthread_mutex_lock(&lock);
    fault++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_errno)
{
    later();
    pthread_mutex_lock(&lock);
    errno = fault;
    fault++;
    pthread_mutex_unlock(&lock);
    if (errno == 1)
        x_errno = 2;
    return NULL;
}

/* ---- a signal handler ---- */

int x_signal;
static int raised, for_handler;

static void handler(int number)
{
    (void)number;
    if (for_handler)
        x_signal = 2;
}

THREAD(first_signal)
{
    x_signal = 1;
    pthread_mutex_lock(&lock);
    raised++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_signal)
{
    later();
    signal(SIGUSR1, handler);
    pthread_mutex_lock(&lock);
    for_handler = raised;
    raised++;
    pthread_mutex_unlock(&lock);
    raise(SIGUSR1);
    return NULL;
}

/* ---- the last reference ---- */

int x_reference;
static int references = 2;

THREAD(first_reference)
{
    x_reference = 1;
    pthread_mutex_lock(&lock);
    references--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_reference)
{
    later();
    pthread_mutex_lock(&lock);
    int left = --references;
    pthread_mutex_unlock(&lock);
    if (!left)
        x_reference = 2;
    return NULL;
}

/* ---- an atomic reference count ---- */

int x_fetch;
static int owners = 2;

THREAD(first_fetch)
{
    x_fetch = 1;
    pthread_mutex_lock(&lock);
    __atomic_fetch_sub(&owners, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_fetch)
{
    later();
    pthread_mutex_lock(&lock);
    int was = __atomic_fetch_sub(&owners, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    if (was == 1)
        x_fetch = 2;
    return NULL;
}

/* ---- an atomic load of it ---- */

int x_compare;
static int turns;

THREAD(first_compare)
{
    x_compare = 1;
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_compare)
{
    later();
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
    int all = __atomic_load_n(&turns, __ATOMIC_RELAXED) == 2;
    pthread_mutex_unlock(&lock);
    if (all)
        x_compare = 2;
    return NULL;
}

/* ---- a copied structure ---- */

int x_copy;
static struct pair {
    int a, b, c, d, e;
} shared_pair, own_pair;

THREAD(first_copy)
{
    x_copy = 1;
    pthread_mutex_lock(&lock);
    shared_pair.a++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_copy)
{
    later();
    pthread_mutex_lock(&lock);
    own_pair = shared_pair;
    shared_pair.a++;
    pthread_mutex_unlock(&lock);
    if (own_pair.a)
        x_copy = 2;
    return NULL;
}

/* ---- written before in the same section ---- */

int x_zeroed;
static int source, sum;

THREAD(first_zeroed)
{
    x_zeroed = 1;
    pthread_mutex_lock(&lock);
    source++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_zeroed)
{
    later();
    pthread_mutex_lock(&lock);
    sum = 0;
    sum += source;
    source++;
    pthread_mutex_unlock(&lock);
    if (sum)
        x_zeroed = 2;
    return NULL;
}

/* ---- looked at before and after ---- */

int x_between;
static int level, more_of_it;

THREAD(first_between)
{
    x_between = 1;
    pthread_mutex_lock(&lock);
    more_of_it++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_between)
{
    later();
    pthread_mutex_lock(&lock);
    int low = level > 5;
    level += more_of_it;
    more_of_it++;
    int high = level > 0;
    pthread_mutex_unlock(&lock);
    if (!low && high)
        x_between = 2;
    return NULL;
}

/* ---- written as a word, read as bytes ---- */

int x_bytes;
static union {
    unsigned word;
    unsigned char byte[4];
} both_ways;
static unsigned from;

THREAD(first_bytes)
{
    x_bytes = 1;
    pthread_mutex_lock(&lock);
    from++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_bytes)
{
    later();
    pthread_mutex_lock(&lock);
    both_ways.word = from;
    from++;
    pthread_mutex_unlock(&lock);
    if (both_ways.byte[0])
        x_bytes = 2;
    return NULL;
}

/* ---- by a callback of the C library ---- */

int x_sorted;
static int weight, weights[2];

static int compare_weights(const void *a, const void *b)
{
    int x = weights[*(const int *)a], y = weights[*(const int *)b];
    return (x > y) - (x < y);
}

THREAD(first_sorted)
{
    x_sorted = 1;
    pthread_mutex_lock(&lock);
    weight++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_sorted)
{
    later();
    pthread_mutex_lock(&lock);
    weights[0] = weight;
    weight++;
    pthread_mutex_unlock(&lock);
    int order[] = { 0, 1 };
    qsort(order, 2, sizeof *order, compare_weights);
    if (order[0] == 1)
        x_sorted = 2;
    return NULL;
}

/* ---- memory from a pool ---- */

int x_pool;
static char pool[64], *rest = pool;

THREAD(first_pool)
{
    x_pool = 1;
    pthread_mutex_lock(&lock);
    rest += 16;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_pool)
{
    later();
    pthread_mutex_lock(&lock);
    char *p = rest;
    rest += 16;
    *p = 1;
    pthread_mutex_unlock(&lock);
    if (pool[16])
        x_pool = 2;
    return NULL;
}

/* ---- the lowest bit ---- */

int x_parity;
static unsigned odd;

THREAD(first_parity)
{
    x_parity = 1;
    pthread_mutex_lock(&lock);
    odd ^= 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_parity)
{
    later();
    pthread_mutex_lock(&lock);
    unsigned was = odd;
    odd ^= 1;
    pthread_mutex_unlock(&lock);
    if (was & 1)
        x_parity = 2;
    return NULL;
}

/* ---- written by a function that is called in between ---- */

int x_callee;
static int measure, shown_measure;

__attribute__((noinline)) static void show_measure(void)
{
    shown_measure = measure;
    measure++;
}

THREAD(first_callee)
{
    x_callee = 1;
    pthread_mutex_lock(&lock);
    measure++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_callee)
{
    later();
    int before, after;
    pthread_mutex_lock(&lock);
    before = shown_measure > 5;
    show_measure();
    after = shown_measure > 0;
    pthread_mutex_unlock(&lock);
    if (!before && after)
        x_callee = 2;
    return NULL;
}

/* ---- a number in text ---- */

int x_number;
static int digits;
static char numeral[4] = "0";

THREAD(first_number)
{
    x_number = 1;
    pthread_mutex_lock(&lock);
    digits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_number)
{
    later();
    pthread_mutex_lock(&lock);
    numeral[0] = (char)('0' + digits);
    digits++;
    pthread_mutex_unlock(&lock);
    if (atoi(numeral))
        x_number = 2;
    return NULL;
}

/* ---- text compared ---- */

int x_strings;
static int letters;
static char word[4] = "a";

THREAD(first_strings)
{
    x_strings = 1;
    pthread_mutex_lock(&lock);
    letters++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_strings)
{
    later();
    pthread_mutex_lock(&lock);
    word[0] = (char)('a' + letters);
    letters++;
    pthread_mutex_unlock(&lock);
    if (strcmp(word, "a"))
        x_strings = 2;
    return NULL;
}

/* ---- memory compared ---- */

int x_memory;
static int cell;
static int cells[6], zeros[6];

THREAD(first_memory)
{
    x_memory = 1;
    pthread_mutex_lock(&lock);
    cell++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_memory)
{
    later();
    pthread_mutex_lock(&lock);
    cells[3] = cell;
    cell++;
    pthread_mutex_unlock(&lock);
    if (memcmp(cells, zeros, sizeof cells))
        x_memory = 2;
    return NULL;
}

/* ---- through a pipe ---- */

int x_pipe;
static int sent;
static int packet;

THREAD(first_pipe)
{
    x_pipe = 1;
    pthread_mutex_lock(&lock);
    sent++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_pipe)
{
    later();
    pthread_mutex_lock(&lock);
    packet = sent;
    sent++;
    pthread_mutex_unlock(&lock);
    int ends[2], got = 0;
    if (pipe(ends) || write(ends[1], &packet, sizeof packet) < 0 ||
        read(ends[0], &got, sizeof got) < 0)
        abort();
    if (got)
        x_pipe = 2;
    return NULL;
}

/* ---- a bit beside the counter ---- */

int x_field;
static struct fields {
    unsigned ready : 1, count : 7;
} fields;

THREAD(first_field)
{
    x_field = 1;
    pthread_mutex_lock(&lock);
    fields.ready = 1;
    fields.count++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_field)
{
    later();
    pthread_mutex_lock(&lock);
    fields.count++;
    int ready = fields.ready;
    pthread_mutex_unlock(&lock);
    if (ready)
        x_field = 2;
    return NULL;
}

/* ---- through a variable whose address is known ---- */

int x_variable;
static int amounts;

__attribute__((noinline)) static int look(const int *p)
{
    return *p;
}

THREAD(first_variable)
{
    x_variable = 1;
    pthread_mutex_lock(&lock);
    amounts++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_variable)
{
    later();
    pthread_mutex_lock(&lock);
    int copy = amounts;
    amounts++;
    pthread_mutex_unlock(&lock);
    if (look(&copy))
        x_variable = 2;
    return NULL;
}

int main(void)
{
    run_two(first_volatile, second_volatile);
    run_two(first_assembly, second_assembly);
    run_two(first_jump, second_jump);
    run_two(first_errno, second_errno);
    run_two(first_signal, second_signal);
    run_two(first_reference, second_reference);
    run_two(first_fetch, second_fetch);
    run_two(first_compare, second_compare);
    run_two(first_copy, second_copy);
    run_two(first_zeroed, second_zeroed);
    run_two(first_between, second_between);
    run_two(first_bytes, second_bytes);
    run_two(first_sorted, second_sorted);
    run_two(first_pool, second_pool);
    run_two(first_parity, second_parity);
    run_two(first_callee, second_callee);
    run_two(first_number, second_number);
    run_two(first_strings, second_strings);
    run_two(first_memory, second_memory);
    run_two(first_pipe, second_pipe);
    run_two(first_field, second_field);
    run_two(first_variable, second_variable);
    return 0;
}
