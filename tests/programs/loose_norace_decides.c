// What sections count decides whether the second thread makes its access: no race.
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

/* ---- a branch ---- */

int x_branch;
static int hits;

THREAD(first_branch)
{
    x_branch = 1;
    pthread_mutex_lock(&lock);
    hits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_branch)
{
    later();
    pthread_mutex_lock(&lock);
    int seen = hits++;
    pthread_mutex_unlock(&lock);
    if (seen)
        x_branch = 2;
    return NULL;
}

/* ---- read again in the same section ---- */

int x_again;
static int twice;

THREAD(first_again)
{
    x_again = 1;
    pthread_mutex_lock(&lock);
    twice++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_again)
{
    later();
    pthread_mutex_lock(&lock);
    twice++;
    int more = twice > 1;
    pthread_mutex_unlock(&lock);
    if (more)
        x_again = 2;
    return NULL;
}

/* ---- stored, and looked at later ---- */

int x_later;
static int counted, mine;

THREAD(first_later)
{
    x_later = 1;
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_later)
{
    later();
    pthread_mutex_lock(&lock);
    mine = counted;
    counted++;
    pthread_mutex_unlock(&lock);
    if (mine)
        x_later = 2;
    return NULL;
}

/* ---- stored, and looked at under another lock ---- */

int x_relay;
static int origin, relay;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

THREAD(first_relay)
{
    x_relay = 1;
    pthread_mutex_lock(&lock);
    origin++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_relay)
{
    later();
    pthread_mutex_lock(&lock);
    relay = origin;
    origin++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&other);
    int seen = relay;
    pthread_mutex_unlock(&other);
    if (seen)
        x_relay = 2;
    return NULL;
}

/* ---- stored, and looked at by another thread ---- */

int x_thread;
static int given, handed;

THREAD(third)
{
    if (handed)
        x_thread = 2;
    return NULL;
}

THREAD(first_thread)
{
    x_thread = 1;
    pthread_mutex_lock(&lock);
    given++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_thread)
{
    later();
    pthread_mutex_lock(&lock);
    handed = given;
    given++;
    pthread_mutex_unlock(&lock);
    pthread_join(start(third, NULL), NULL);
    return NULL;
}

/* ---- through three counters ---- */

int x_chain;
static int c1, c2, c3;

THREAD(first_chain)
{
    x_chain = 1;
    pthread_mutex_lock(&lock);
    c1++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_chain)
{
    later();
    pthread_mutex_lock(&lock);
    c2 = c1;
    c1++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    c3 = c2 + 0 * c3;
    c2++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    int seen = c3;
    pthread_mutex_unlock(&lock);
    if (seen)
        x_chain = 2;
    return NULL;
}

/* ---- returned ---- */

int x_return;
static int returned;

__attribute__((noinline)) static int take_one(void)
{
    return returned++;
}

THREAD(first_return)
{
    x_return = 1;
    pthread_mutex_lock(&lock);
    take_one();
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_return)
{
    later();
    pthread_mutex_lock(&lock);
    int seen = take_one();
    pthread_mutex_unlock(&lock);
    if (seen)
        x_return = 2;
    return NULL;
}

/* ---- an index ---- */

int x_index;
static unsigned place;
static volatile int table[4];

THREAD(first_index)
{
    x_index = 1;
    pthread_mutex_lock(&lock);
    place++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_index)
{
    later();
    pthread_mutex_lock(&lock);
    table[place & 3] = 1;
    place++;
    pthread_mutex_unlock(&lock);
    if (table[1])
        x_index = 2;
    return NULL;
}

/* ---- an indirect call ---- */

int x_call;
static unsigned which;

static void nothing(void)
{
}
static void do_access(void)
{
    x_call = 2;
}
static void (*const calls[])(void) = { nothing, do_access };

THREAD(first_call)
{
    x_call = 1;
    pthread_mutex_lock(&lock);
    which++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_call)
{
    later();
    pthread_mutex_lock(&lock);
    void (*f)(void) = calls[which & 1];
    which++;
    pthread_mutex_unlock(&lock);
    f();
    return NULL;
}

/* ---- a choice between addresses ---- */

int x_address;
static int chosen, dummy;

THREAD(first_address)
{
    x_address = 1;
    pthread_mutex_lock(&lock);
    chosen++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_address)
{
    later();
    pthread_mutex_lock(&lock);
    int *p = chosen++ ? &x_address : &dummy;
    pthread_mutex_unlock(&lock);
    *p = 2;
    return NULL;
}

/* ---- printed ---- */

int x_print;
static int printed;
static char text[16];

THREAD(first_print)
{
    x_print = 1;
    pthread_mutex_lock(&lock);
    printed++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_print)
{
    later();
    pthread_mutex_lock(&lock);
    snprintf(text, sizeof text, "%d", printed);
    printed++;
    pthread_mutex_unlock(&lock);
    if (text[0] != '0')
        x_print = 2;
    return NULL;
}

/* ---- a length ---- */

int x_length;
static size_t length;
static char buffer[8];

THREAD(first_length)
{
    x_length = 1;
    pthread_mutex_lock(&lock);
    length++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_length)
{
    later();
    pthread_mutex_lock(&lock);
    memset(buffer, 1, length & 7);
    length++;
    pthread_mutex_unlock(&lock);
    if (buffer[0])
        x_length = 2;
    return NULL;
}

/* ---- a switch ---- */

int x_switch;
static int kind;

THREAD(first_switch)
{
    x_switch = 1;
    pthread_mutex_lock(&lock);
    kind++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_switch)
{
    later();
    pthread_mutex_lock(&lock);
    int k = kind++;
    pthread_mutex_unlock(&lock);
    switch (k) {
    case 0:
        break;
    case 1:
        x_switch = 2;
        break;
    default:
        break;
    }
    return NULL;
}

/* ---- floating point compared ---- */

int x_double;
static double amount;

THREAD(first_double)
{
    x_double = 1;
    pthread_mutex_lock(&lock);
    amount += 1.0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_double)
{
    later();
    pthread_mutex_lock(&lock);
    double before = amount;
    amount += 1.0;
    pthread_mutex_unlock(&lock);
    if (before > 0.5)
        x_double = 2;
    return NULL;
}

/* ---- rounds of a loop ---- */

int x_rounds;
static int rounds;

THREAD(first_rounds)
{
    x_rounds = 1;
    pthread_mutex_lock(&lock);
    rounds++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_rounds)
{
    later();
    pthread_mutex_lock(&lock);
    int n = rounds++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        x_rounds = 2;
    return NULL;
}

/* ---- a divisor ---- */

int x_divide;
static unsigned divisor = 1;

THREAD(first_divide)
{
    x_divide = 1;
    pthread_mutex_lock(&lock);
    divisor++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_divide)
{
    later();
    pthread_mutex_lock(&lock);
    unsigned q = 7 / divisor;
    divisor++;
    pthread_mutex_unlock(&lock);
    if (q < 7)
        x_divide = 2;
    return NULL;
}

/* ---- a shift ---- */

int x_shift;
static unsigned amount_of;

THREAD(first_shift)
{
    x_shift = 1;
    pthread_mutex_lock(&lock);
    amount_of++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_shift)
{
    later();
    pthread_mutex_lock(&lock);
    unsigned mask = 1u << (amount_of & 7);
    amount_of++;
    pthread_mutex_unlock(&lock);
    if (mask & 2)
        x_shift = 2;
    return NULL;
}

/* ---- the head of a list ---- */

int x_head;
struct node {
    struct node *next;
};
static struct node *head, of_first, of_second;

THREAD(first_head)
{
    x_head = 1;
    pthread_mutex_lock(&lock);
    of_first.next = head;
    head = &of_first;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_head)
{
    later();
    pthread_mutex_lock(&lock);
    of_second.next = head;
    head = &of_second;
    pthread_mutex_unlock(&lock);
    if (of_second.next)
        x_head = 2;
    return NULL;
}

int main(void)
{
    run_two(first_branch, second_branch);
    run_two(first_again, second_again);
    run_two(first_later, second_later);
    run_two(first_relay, second_relay);
    run_two(first_thread, second_thread);
    run_two(first_chain, second_chain);
    run_two(first_return, second_return);
    run_two(first_index, second_index);
    run_two(first_call, second_call);
    run_two(first_address, second_address);
    run_two(first_print, second_print);
    run_two(first_length, second_length);
    run_two(first_switch, second_switch);
    run_two(first_double, second_double);
    run_two(first_rounds, second_rounds);
    run_two(first_divide, second_divide);
    run_two(first_shift, second_shift);
    run_two(first_head, second_head);
    return 0;
}
