/* account - the RDIT paper's case study (section 4): accounts take deposits, the bank adds up
 *
 * Main does not join the threads; it asks until each of them is gone (is_alive), and then checks.
 * Lines with the same RACE tag really race, here and in all these programs; those with a "!" are
 * guarded among themselves, and race only with the others.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCOUNTS = 4, DEPOSITS = 60 };

struct account {
    int number;
    long balance; /* of its thread; main reads it when the thread is gone */
    long history[8];
    atomic_int alive;
};
static struct account accounts[ACCOUNTS];
static long bank_total;
static int audits, last_customer;

static int is_alive(struct account *a)
{
    return atomic_load(&a->alive);
}

static void leave(struct account *a)
{
    atomic_store(&a->alive, 0);
}

static void deposit(struct account *a, long amount)
{
    a->balance += amount;
    a->history[amount % 8] = a->balance;
    bank_total += amount;      /* RACE total */
    last_customer = a->number; /* RACE customer */
}

static void audit(const struct account *a)
{
    if (a->balance > 0)
        audits++; /* RACE audits */
}

static void *run(void *arg)
{
    struct account *a = arg;

    for (int i = 0; i < DEPOSITS; i++) {
        deposit(a, a->number + i % 10);
        if (i % 8 == 7) {
            audit(a);
            usleep(100); /* let the others run */
        }
    }
    leave(a);
    return NULL;
}

static void open_accounts(void)
{
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_t t;

        accounts[i].number = i + 1;
        atomic_store(&accounts[i].alive, 1);
        if (pthread_create(&t, NULL, run, &accounts[i]))
            exit(1);
        pthread_detach(t);
    }
}

static void wait_for_all(void)
{
    for (int i = 0; i < ACCOUNTS; i++)
        while (is_alive(&accounts[i]))
            usleep(1000);
}

static long sum_up(void)
{
    long sum = 0;

    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance + 0 * accounts[i].history[1];
    return sum;
}

static void report(void)
{
    printf("%ld in accounts, bank %s, %s audits, last one %s\n", sum_up(),
           bank_total ? "open" : "empty", audits ? "some" : "no", last_customer ? "known" : "?");
}

int main(void)
{
    open_accounts();
    wait_for_all();
    report();
    return 0;
}
