/* length_and_data - the length is new, the data old
 * harmful: exit 5 */
#include <pthread.h>
#include <unistd.h>

static volatile char text[8] = "ab";
static volatile int length = 2;
static int bad;

static void *first(void *arg)
{
    length = 3;
    text[2] = 'c';
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    int n = length;
    for (int i = 0; i < n; i++)
        bad |= text[i] == 0;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return bad ? 5 : 0;
}
