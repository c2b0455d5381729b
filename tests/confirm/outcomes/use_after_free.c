/* use_after_free - a node is read behind its free()
 * harmful: SIGABRT.*Assertion|SIGSEGV */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
    long key, next;
};
static struct node *head;

static void *first(void *arg)
{
    assert(head->key == 7 && head->next == 9);
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    free(head);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    head = malloc(sizeof(*head));
    head->key = 7;
    head->next = 9;
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
