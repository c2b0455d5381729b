/* wrong_exit_code - the result is read before it is there
 * harmful: exit 9 */
#include <pthread.h>
#include <unistd.h>

static volatile int result = 9;

static void *worker(void *arg)
{
    result = 0;
    return arg;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, NULL);
    usleep(100000);
    int code = result;
    pthread_join(t, NULL);
    return code;
}
