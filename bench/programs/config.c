/* config - settings behind a lock for readers and writers; the version counter is looked at without
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SETTINGS = 8, READERS = 3, WRITERS = 2, STEPS = 50 };

struct setting {
    int value;
    char name[8];
};
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct setting settings[SETTINGS]; /* guarded by lock */
static int version, reloads, last_read;
static long sums[READERS];
static pthread_t threads[READERS + WRITERS];
static int numbers[READERS + WRITERS];

static void begin_read(void)
{
    pthread_rwlock_rdlock(&lock);
}

static void begin_write(void)
{
    pthread_rwlock_wrlock(&lock);
}

static void end(void)
{
    pthread_rwlock_unlock(&lock);
}

static int read_setting(int i)
{
    last_read = i; /* RACE last */
    return settings[i].value + settings[i].name[0];
}

static void change_setting(int i, int value)
{
    settings[i].value = value;
    settings[i].name[0] = (char)('a' + value % 26);
    version++; /* RACE version! */
}

static int is_stale(int seen)
{
    return seen != version; /* RACE version */
}

static int current(void)
{
    return version;
}

static void note_reload(void)
{
    reloads++; /* RACE reloads */
}

static void *reader(void *arg)
{
    int me = *(int *)arg, seen = -1;

    for (int i = 0; i < STEPS; i++) {
        usleep(200);
        if (!is_stale(seen))
            continue;
        begin_read();
        seen = current();
        sums[me] += read_setting(i % SETTINGS);
        end();
        note_reload();
    }
    return NULL;
}

static void *writer(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < STEPS; i++) {
        begin_write();
        change_setting((i + me) % SETTINGS, i);
        end();
        usleep(200);
    }
    return NULL;
}

static void start(void)
{
    for (int i = 0; i < READERS + WRITERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, i < READERS ? reader : writer, &numbers[i]))
            exit(1);
    }
}

static void finish(void)
{
    for (int i = 0; i < READERS + WRITERS; i++)
        pthread_join(threads[i], NULL);
}

static int total(void)
{
    int sum = 0;

    for (int i = 0; i < SETTINGS; i++)
        sum += settings[i].value;
    return sum;
}

int main(void)
{
    start();
    finish();
    printf("%s\n", total() > 0 && version > 0 ? "changed" : "unchanged");
    return 0;
}
