/* seats.c - a race that is easy to miss
 *
 * A clerk books the eight seats of a row, each under the lock; people who come
 * later change their seats, but the first one stays as it is. The board shows
 * who has the first seat and holds a lock, too, but its own: a race, in every
 * run.
 *
 * ThreadSanitizer remembers four accesses per eight bytes of memory. When the
 * board looks, the booking of the first seat is long forgotten, so it says
 * nothing. `make demo` shows what Heddle says.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SEATS = 8 };

static char row[SEATS]; /* who has the seat, a letter; 0: free */
static int stood_up;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t screen = PTHREAD_MUTEX_INITIALIZER;

static void book(int seat, char who)
{
    pthread_mutex_lock(&lock);
    row[seat] = who;
    for (int i = seat + 1; i < SEATS && row[i]; i++)
        stood_up++; /* to let them pass */
    pthread_mutex_unlock(&lock);
}

static void *clerk(void *unused)
{
    for (int i = 0; i < SEATS; i++)
        book(i, (char)('a' + i));
    for (int i = 0; i < 100; i++)
        book(1 + i % (SEATS - 1), (char)('b' + i % 25));
    return unused;
}

static void *board(void *unused)
{
    usleep(100000); /* the doors open */
    pthread_mutex_lock(&screen);
    printf("the first seat has %c\n", row[0]);
    pthread_mutex_unlock(&screen);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, clerk, NULL);
    pthread_create(&threads[1], NULL, board, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
