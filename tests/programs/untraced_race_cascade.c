// As untraced_race_account.c, with all engines: the cascade reports the one race and nothing else.
// library: untraced_hidden.c untraced
// race: total1 total2
// never: deposit1 check1
// never: deposit2 check2
// never: total1 check
// never: total2 check
#include "prog.h"
#include "untraced_hidden.h"

struct account {
    int balance;
};
static struct account *accounts[2];
static int bank_total;

THREAD(first)
{
    accounts[0]->balance += 100; // [deposit1]
    bank_total += 100;           // [total1]
    return NULL;
}

THREAD(second)
{
    accounts[1]->balance += 200; // [deposit2]
    bank_total += 200;           // [total2]
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int sum = 0;
    for (int i = 0; i < 2; i++)
        accounts[i] = calloc(1, sizeof(struct account));
    t[0] = start(first, NULL);
    t[1] = start(second, NULL);
    for (int i = 0; i < 2; i++)
        if (hidden_is_alive(t[i])) {
            pause_ms(1);
            i = -1;
        }
    sum += accounts[0]->balance; // [check1]
    sum += accounts[1]->balance; // [check2]
    USE(sum == bank_total);      // [check]
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
