/* account - deposits and withdrawals are locked, transfers lock only the own account
 *
 * After the benchmark of the IBM contest: each manager works on its account under that account's
 * lock, then transfers to the next account, whose amount it changes without that one's lock. A
 * withdrawal looks whether the money is there; if not it counts as refused, and the account is
 * frozen. The clerk prints what it sees, without locks. Races: the transfer's change of the other
 * account with everything there; the clerk's looks.
 */
// find mc: other look
// find mc: own look
// find recipe-s: own other
// true: other own
// true: other look
// true: own look
// true: other other
// true: frozen frozen?
// never: own own
// never: own start
// never: refused own
// stdout: 360 in all, 0 frozen
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 3 };

struct account {
    pthread_mutex_t lock;
    int amount, refused, frozen;
};

static struct account accounts[ACCOUNTS];
static int total, seen_frozen;

static void deposit(struct account *a, int money)
{
    pthread_mutex_lock(&a->lock);
    a->amount += money; // [own]
    pthread_mutex_unlock(&a->lock);
}

static void withdraw(struct account *a, int money)
{
    pthread_mutex_lock(&a->lock);
    if (a->amount >= money) { // [own]
        a->amount -= money;   // [own]
    } else {
        a->refused++;  // [refused]
        a->frozen = 1; // [frozen]
    }
    pthread_mutex_unlock(&a->lock);
}

static void transfer(struct account *from, struct account *to, int money)
{
    pthread_mutex_lock(&from->lock);
    if (from->amount >= money && !to->frozen) { // [own] [frozen?]
        from->amount -= money;                  // [own]
        to->amount += money;                    // [other]
    }
    pthread_mutex_unlock(&from->lock);
}

static void *manage(void *arg)
{
    int me = *(int *)arg;
    struct account *mine = &accounts[me];

    deposit(mine, 300);
    withdraw(mine, 100);
    transfer(mine, &accounts[(me + 1) % ACCOUNTS], 99);
    withdraw(mine, 180);
    return NULL;
}

static void *look(void *arg)
{
    for (int i = 0; i < ACCOUNTS; i++) {
        if (accounts[i].frozen) // [frozen?]
            seen_frozen++;
        else
            total += accounts[i].amount; // [look]
    }
    return arg;
}

int main(void)
{
    int numbers[ACCOUNTS];
    pthread_t t[ACCOUNTS + 1];

    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].amount = 100; // [start]
    }
    for (int i = 0; i < ACCOUNTS; i++) {
        numbers[i] = i;
        pthread_create(&t[i], NULL, manage, &numbers[i]);
        usleep(10000);
    }
    pthread_create(&t[ACCOUNTS], NULL, look, NULL);
    for (int i = 0; i <= ACCOUNTS; i++)
        pthread_join(t[i], NULL);
    printf("%d in all, %d frozen\n", total, seen_frozen);
    return 0;
}
