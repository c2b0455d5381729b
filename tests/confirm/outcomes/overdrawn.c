/* overdrawn - two withdrawals, money for one
 * harmful: exit 7 */
#include <pthread.h>
#include <unistd.h>

static volatile int balance = 100;
static int paid;

static void withdraw(int n)
{
    if (balance >= n) {
        balance = balance - n;
        __atomic_fetch_add(&paid, n, __ATOMIC_SEQ_CST);
    }
}

static void *first(void *arg)
{
    withdraw(80);
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    withdraw(80);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return paid > 100 ? 7 : 0;
}
