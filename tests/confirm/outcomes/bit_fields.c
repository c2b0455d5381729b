/* bit_fields - two bit fields share a byte
 * harmful: exit 8 */
#include <pthread.h>
#include <unistd.h>

static struct {
    unsigned a : 1, b : 1, c : 6;
} f;

static void *first(void *arg)
{
    f.a = 1;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    f.b = 1;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return f.a && f.b ? 0 : 8;
}
