/* Which accesses are marked: what they load decides nothing, and marking them is worth its cost. */
#include <pthread.h>
extern void fill(long *p);
extern pthread_mutex_t lock;
struct slice {
    const char *data;
    long bytes;
};

/* Both halves of an update. */
void update(long *hits)
{
    ++*hits; /* @update */
    fill(hits);
}

/* A lone read that is over soon, and the store of what it read. */
void between(long *from, long *to)
{
    pthread_mutex_lock(&lock);
    *to = *from; /* @between */
    pthread_mutex_unlock(&lock);
}

/* A lone read that may come again and again before the thread synchronises: neither it nor the
 * store, which mostly stores something else. */
void seldom(struct slice *to, const unsigned char *from)
{
    long n;

    if (*from < 128)
        n = *from;
    else
        fill(&n);
    to->bytes = n; /* @seldom */
}
