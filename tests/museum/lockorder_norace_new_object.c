// A new object is locked, then put into a list under the list's lock; others lock list, then
// object.
// issue: https://github.com/google/sanitizers/issues/1163
// tool: ThreadSanitizer
// there: false alarm; the inversion involves an object that nobody else can know of yet
// verdict: no deadlock; before it is in the list no other thread can ask for the object's lock
#include "prog.h"

struct object {
    pthread_mutex_t lock;
    int value;
};
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
struct object *list;

THREAD(creates)
{
    struct object *fresh = calloc(1, sizeof(*fresh));

    pthread_mutex_init(&fresh->lock, NULL);
    pthread_mutex_lock(&fresh->lock);
    pthread_mutex_lock(&list_lock);
    list = fresh;
    pthread_mutex_unlock(&list_lock);
    fresh->value = 1;
    pthread_mutex_unlock(&fresh->lock);
    return NULL;
}

THREAD(visits)
{
    for (int seen = 0; !seen; pause_ms(1)) {
        pthread_mutex_lock(&list_lock);
        if (list) {
            pthread_mutex_lock(&list->lock);
            seen = list->value;
            pthread_mutex_unlock(&list->lock);
        }
        pthread_mutex_unlock(&list_lock);
    }
    return NULL;
}

int main(void)
{
    run_two(creates, visits);
    return list->value - 1;
}
