/* What the programs share: an access of its own for each place that is to be watched. The test
 * looks at the lines that say ESCAPED or PRIVATE. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define TOUCH(name)                                                                                \
    static NOINLINE void name(volatile int *p)                                                     \
    {                                                                                              \
        *p = *p + 1;                                                                               \
    }
static inline void in_thread(void *(*f)(void *), void *arg)
{
    pthread_t t;
    pthread_create(&t, NULL, f, arg);
    pthread_join(t, NULL);
}
