/* mergesort - a merge sort that makes threads while entries of a pool are free
 *
 * After the paper's Figure 7 and the benchmark: available() takes the lock of the class, the
 * changes of `alive` take the lock of the sorter, so they do not exclude each other (all marked
 * alive). To see one free entry a sorter needs the other one between its two increments, so never
 * are two in that branch. A sorter with two entries makes two children, with one one, else it sorts
 * alone; a child gives its entry back. The ranges that children sort are apart, and merged after
 * join. Observed: the first child takes what is free.
 */
// find mc: alive avail
// vars: alive alone peak
// never: one one
// never: sort sort
// never: sort merge
// stdout: 1 alive, 3 alone, peak 5
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TOTAL = 5, N = 32 };

struct sorter {
    pthread_mutex_t lock; /* this */
    int low, high, late_us;
};

static pthread_mutex_t class_lock = PTHREAD_MUTEX_INITIALIZER;
static int alive, alone, peak;
static int array[N], scratch[N];

static int available(void)
{
    int n;

    pthread_mutex_lock(&class_lock);
    n = TOTAL - alive; // [alive] [avail]
    pthread_mutex_unlock(&class_lock);
    return n;
}

static void sort(int low, int high)
{
    for (int i = low + 1; i < high; i++) {
        int v = array[i], k = i; // [sort]

        for (; k > low && array[k - 1] > v; k--) // [sort]
            array[k] = array[k - 1];             // [sort]
        array[k] = v;                            // [sort]
    }
}

static void merge(int low, int middle, int high)
{
    int a = low, b = middle;

    for (int i = low; i < high; i++) {
        if (b == high || (a < middle && array[a] <= array[b])) // [merge]
            scratch[i] = array[a++];                           // [merge]
        else
            scratch[i] = array[b++]; // [merge]
    }
    for (int i = low; i < high; i++)
        array[i] = scratch[i]; // [merge]
}

static void init(struct sorter *s, int low, int high, int late_us)
{
    pthread_mutex_init(&s->lock, NULL);
    s->low = low;
    s->high = high;
    s->late_us = late_us;
}

static void *sorting(void *arg)
{
    struct sorter *this = arg, child[2];
    pthread_t t[2];
    int middle = (this->low + this->high) / 2, y, n = 0;

    init(&child[0], this->low, middle, 0);
    init(&child[1], middle, this->high, 30000);
    usleep((unsigned)this->late_us);
    y = this->high - this->low <= 8 ? 0 : available();
    if (y <= 0) {
        sort(this->low, this->high);
        alone++; // [alone]
    } else if (y == 1) {
        pthread_create(&t[n++], NULL, sorting, &child[0]);
        pthread_mutex_lock(&this->lock);
        alive++; // [alive] [one]
        pthread_mutex_unlock(&this->lock);
        sort(middle, this->high);
    } else {
        pthread_create(&t[n++], NULL, sorting, &child[0]);
        pthread_mutex_lock(&this->lock);
        alive++; // [alive]
        pthread_mutex_unlock(&this->lock);
        pthread_create(&t[n++], NULL, sorting, &child[1]);
        pthread_mutex_lock(&this->lock);
        alive++;          // [alive]
        if (alive > peak) // [alive] [peak]
            peak = alive; // [alive] [peak]
        pthread_mutex_unlock(&this->lock);
    }
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    if (n > 0) {
        merge(this->low, middle, this->high);
        pthread_mutex_lock(&this->lock);
        alive -= n; // [alive] [back]
        pthread_mutex_unlock(&this->lock);
    }
    return NULL;
}

int main(void)
{
    struct sorter root;
    pthread_t t;

    for (int i = 0; i < N; i++)
        array[i] = (i * 29 + 7) % N;
    alive = 1;
    init(&root, 0, N, 0);
    pthread_create(&t, NULL, sorting, &root);
    pthread_join(t, NULL);
    for (int i = 1; i < N; i++)
        if (array[i - 1] > array[i])
            printf("not sorted at %d\n", i);
    printf("%d alive, %d alone, peak %d\n", alive, alone, peak);
    return 0;
}
