/* fig7 - Figure 7 of the paper: merge sort, a counter of threads under two kinds of locks
 *
 * available() holds the lock of the class, alive++ that of the sorter: they do not exclude each
 * other. Observed: sorter 2 takes both free entries, then sorter 1 sees none. With alive = 4
 * (between the two increments of sorter 2) sorter 1 starts one child: its alive++ at "one" races
 * with available() of sorter 3, and with the increments of sorter 2. Sorters 3 to 5 are leaves. Two
 * sorters never see one entry: who sees it sees the other between its increments.
 */
// find mc: two avail
// find recipe: one avail
// find recipe: one two
// vars: alive
// never: one one
// never: main avail
// never: main one
// never: main two
// stdout: 5
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TOTAL = 5 };

struct sorter {
    pthread_mutex_t lock; /* this */
    int leaf;
    int late_us;
};

static pthread_mutex_t class_lock = PTHREAD_MUTEX_INITIALIZER;
static int alive;
static struct sorter first[2] = { { PTHREAD_MUTEX_INITIALIZER, 0, 60000 },
                                  { PTHREAD_MUTEX_INITIALIZER, 0, 0 } };
static struct sorter leaves[2][2] = {
    { { PTHREAD_MUTEX_INITIALIZER, 1, 0 }, { PTHREAD_MUTEX_INITIALIZER, 1, 0 } },
    { { PTHREAD_MUTEX_INITIALIZER, 1, 0 }, { PTHREAD_MUTEX_INITIALIZER, 1, 0 } },
};

static int available(void)
{
    int n;

    pthread_mutex_lock(&class_lock);
    n = TOTAL - alive; // [alive] [avail]
    pthread_mutex_unlock(&class_lock);
    return n;
}

static void *sorting(void *arg)
{
    struct sorter *this = arg;
    pthread_t child[2];
    int children = 0, y;

    usleep(this->late_us);
    y = available();
    if (this->leaf || y == 0) {
        /* sort here */
    } else if (y == 1) {
        pthread_create(&child[children++], NULL, sorting, &leaves[this - first][0]);
        pthread_mutex_lock(&this->lock);
        alive++; // [alive] [one]
        pthread_mutex_unlock(&this->lock);
    } else {
        pthread_create(&child[children++], NULL, sorting, &leaves[this - first][0]);
        pthread_mutex_lock(&this->lock);
        alive++; // [alive] [two]
        pthread_mutex_unlock(&this->lock);
        pthread_create(&child[children++], NULL, sorting, &leaves[this - first][1]);
        pthread_mutex_lock(&this->lock);
        alive++; // [alive] [two]
        pthread_mutex_unlock(&this->lock);
    }
    for (int i = 0; i < children; i++)
        pthread_join(child[i], NULL);
    return NULL;
}

int main(void)
{
    pthread_t sorters[2];

    alive = 3; // [main]
    for (int i = 0; i < 2; i++)
        pthread_create(&sorters[i], NULL, sorting, &first[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(sorters[i], NULL);
    printf("%d\n", alive); // [main]
    return 0;
}
