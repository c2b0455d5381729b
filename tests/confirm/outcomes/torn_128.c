/* torn_128 - half of a 128-bit value is new
 * harmful: exit 3 */
#include <pthread.h>
#include <unistd.h>

typedef unsigned __int128 wide;
wide value;
int torn, five = 5;

static void *first(void *arg)
{
    value = (wide)five << 64 | (unsigned)five;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    wide v = value;
    torn = (unsigned long)(v >> 64) != (unsigned long)v;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return torn ? 3 : 0;
}
