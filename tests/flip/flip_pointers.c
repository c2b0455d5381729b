/* A pointer that leads elsewhere: other functions, other objects
 * recipe: loud a -O1
 * recipe: entry b
 * recipe: field c
 * recipe: idle d
 * never: quiet e
 * never: gone e
 */
#include "turn.h"
#include <pthread.h>
#include <stdlib.h>

struct object {
    int kind, value;
};

static volatile int x1, x2, x4, x5;
static struct object first = { 1, 10 }, second = { 2, 20 }, third = { 3, 30 };
static struct object *object = &first;
static int mode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void loud(void)
{
    x1 = 1; /* loud */
}

static void quiet(void)
{
    x5 = 1; /* quiet */
}

static void entry(void)
{
    x2 = 1; /* entry */
}

static void (*hook)(void) = loud;
static void (*const by_mode[])(void) = { entry, quiet };

static void *reader(void *arg)
{
    void (*h)(void);
    struct object *o;
    int m;

    turn(1);
    pthread_mutex_lock(&lock);
    h = hook;
    o = object;
    m = mode;
    pthread_mutex_unlock(&lock);
    if (o->kind == 1)
        x4 = 1; /* idle */
    if (o->kind == 3)
        x5 = 2;   /* gone */
    o->value = 5; /* field */
    by_mode[m]();
    h();
    return arg;
}

static void *writer(void *arg)
{
    x1 = 2;          /* a */
    x2 = 2;          /* b */
    first.value = 2; /* c */
    x4 = 2;          /* d */
    pthread_mutex_lock(&lock);
    hook = quiet;
    object = &second;
    mode = 1;
    x5 = 3; /* e */
    pthread_mutex_unlock(&lock);
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], 0, reader, 0);
    pthread_create(&t[1], 0, writer, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return third.kind - 3;
}
