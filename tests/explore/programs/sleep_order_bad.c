#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int *box;
static int value = 3;

static void *maker(void *arg)
{
    (void)arg;
    box = &value;
    return NULL;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, maker, NULL);
    usleep(100000); /* it will have come by then */
    if (*box != 3)
        return 1;
    pthread_join(t, NULL);
    return 0;
}
