#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int data1, data2;

static void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m1);
    data1 = 1;
    pthread_mutex_unlock(&m1);
    pthread_mutex_lock(&m2);
    data2 = data1 + 1;
    pthread_mutex_unlock(&m2);
    return NULL;
}

static void *reader(void *arg)
{
    (void)arg;
    int t1, t2;
    pthread_mutex_lock(&m1);
    t1 = data1;
    pthread_mutex_unlock(&m1);
    if (t1 == 0)
        return NULL;
    pthread_mutex_lock(&m2);
    t2 = data2;
    pthread_mutex_unlock(&m2);
    assert(t2 == t1 + 1);
    return NULL;
}

int main(void)
{
    pthread_t t[41];

    pthread_create(&t[0], NULL, writer, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_create(&t[2], NULL, writer, NULL);
    pthread_create(&t[3], NULL, writer, NULL);
    pthread_create(&t[4], NULL, writer, NULL);
    pthread_create(&t[5], NULL, writer, NULL);
    pthread_create(&t[6], NULL, writer, NULL);
    pthread_create(&t[7], NULL, writer, NULL);
    pthread_create(&t[8], NULL, writer, NULL);
    pthread_create(&t[9], NULL, writer, NULL);
    pthread_create(&t[10], NULL, writer, NULL);
    pthread_create(&t[11], NULL, writer, NULL);
    pthread_create(&t[12], NULL, writer, NULL);
    pthread_create(&t[13], NULL, writer, NULL);
    pthread_create(&t[14], NULL, writer, NULL);
    pthread_create(&t[15], NULL, writer, NULL);
    pthread_create(&t[16], NULL, writer, NULL);
    pthread_create(&t[17], NULL, writer, NULL);
    pthread_create(&t[18], NULL, writer, NULL);
    pthread_create(&t[19], NULL, writer, NULL);
    pthread_create(&t[20], NULL, writer, NULL);
    pthread_create(&t[21], NULL, writer, NULL);
    pthread_create(&t[22], NULL, writer, NULL);
    pthread_create(&t[23], NULL, writer, NULL);
    pthread_create(&t[24], NULL, writer, NULL);
    pthread_create(&t[25], NULL, writer, NULL);
    pthread_create(&t[26], NULL, writer, NULL);
    pthread_create(&t[27], NULL, writer, NULL);
    pthread_create(&t[28], NULL, writer, NULL);
    pthread_create(&t[29], NULL, writer, NULL);
    pthread_create(&t[30], NULL, writer, NULL);
    pthread_create(&t[31], NULL, writer, NULL);
    pthread_create(&t[32], NULL, writer, NULL);
    pthread_create(&t[33], NULL, writer, NULL);
    pthread_create(&t[34], NULL, writer, NULL);
    pthread_create(&t[35], NULL, writer, NULL);
    pthread_create(&t[36], NULL, writer, NULL);
    pthread_create(&t[37], NULL, writer, NULL);
    pthread_create(&t[38], NULL, writer, NULL);
    pthread_create(&t[39], NULL, writer, NULL);
    pthread_create(&t[40], NULL, reader, NULL);
    for (int i = 0; i < 41; i++)
        pthread_join(t[i], NULL);
    return 0;
}
