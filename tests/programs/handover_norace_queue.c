// A queue under a lock passes blocks from producers to a consumer that writes and frees them.
// gcc: also
#include "prog.h"

struct item {
    struct item *next;
    int value;
};
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct item *head;

THREAD(producer)
{
    for (int i = 0; i < 50; i++) {
        struct item *item = malloc(sizeof(*item));
        item->value = i;
        pthread_mutex_lock(&lock);
        item->next = head;
        head = item;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

THREAD(consumer)
{
    for (int n = 0; n < 50;) {
        pthread_mutex_lock(&lock);
        struct item *item = head;
        if (item)
            head = item->next;
        pthread_mutex_unlock(&lock);
        if (!item)
            sched_yield();
        else
            n += item->value++ >= 0;
        free(item);
    }
    return NULL;
}

int main(void)
{
    run_two(producer, consumer);
    return head != NULL;
}
