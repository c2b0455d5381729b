/* Virtual functions of objects that the run did not call: static ones and of the heap
 * recipe: loud a
 * recipe: open b -O1
 * never: quiet c
 */
extern "C" {
#include "turn.h"
}
#include <pthread.h>

static volatile int x1, x2, x3;

struct Hook {
    virtual void run() = 0;
    virtual ~Hook() {}
};
struct Loud : Hook {
    void run() override
    {
        x1 = 1; /* loud */
    }
};
struct Quiet : Hook {
    void run() override
    {
        x3 = 1; /* quiet */
    }
};
struct State {
    virtual State *next() = 0;
    virtual ~State() {}
};
struct Open : State {
    State *next() override
    {
        x2 = 1; /* open */
        return this;
    }
};
struct Closed : State {
    State *next() override
    {
        return this;
    }
};

static Loud loud;
static Quiet quiet;
static Hook *hook = &loud;
static State *state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *arg)
{
    turn(1);
    pthread_mutex_lock(&lock);
    Hook *h = hook;
    State *s = state;
    pthread_mutex_unlock(&lock);
    h->run();
    s->next();
    return arg;
}

static void *writer(void *arg)
{
    State *closed = new Closed;

    x1 = 2; /* a */
    x2 = 2; /* b */
    pthread_mutex_lock(&lock);
    x3 = 2; /* c */
    hook = &quiet;
    state = closed;
    pthread_mutex_unlock(&lock);
    turn_end();
    return arg;
}

int main()
{
    pthread_t t[2];

    state = new Open;
    pthread_create(&t[0], 0, reader, 0);
    pthread_create(&t[1], 0, writer, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
