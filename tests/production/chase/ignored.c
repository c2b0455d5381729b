/* ignored.c - accesses between ignore begin and end do not count, but atomic operations still order
 * others */
#include <pthread.h>
#include <stdatomic.h>

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

static int data;
static atomic_int ready;

static void *first(void *arg)
{
    data = 1;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    atomic_store_explicit(&ready, 1, memory_order_release);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return arg;
}

static void *second(void *arg)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        ;
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    data = 2;
    return arg;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
