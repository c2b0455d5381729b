/* address.c - an address is read, and used without any branch in between
 *
 * `late` would use another object if it read `current` earlier, so it never meets the other thread
 * in object 1. Whoever takes the read for free, up to the next branch, says so.
 */
#include <pthread.h>
#include <unistd.h>

#include "say.h"

static struct object {
    int number;
} objects[2];
static struct object *current = &objects[0];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int branch;
static int seen;

static void *early(void *arg)
{
    objects[1].number = 7;
    pthread_mutex_lock(&lock);
    current = &objects[1];
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *late(void *arg)
{
    struct object *o;

    usleep(30000);
    pthread_mutex_lock(&lock);
    o = current;
    pthread_mutex_unlock(&lock);
    seen = o->number;
    return arg;
}

int main(void)
{
    pthread_t a, b;

    if (branch) /* the trace has branches */
        return 1;
    pthread_create(&a, NULL, early, NULL);
    pthread_create(&b, NULL, late, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    say("seen", (unsigned long)seen);
    return 0;
}
