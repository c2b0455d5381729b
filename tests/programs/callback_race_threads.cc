// A callback of untraced code runs threads: what was passed to that code, and that all of them look
// at, orders nothing meanwhile.
// library: callback_lib.cc untraced
// race: a b
// flags: -O1
// flags: -O0
#include "prog.h"
#include "callback_lib.h"

struct thing {
    virtual int number()
    {
        return 0;
    }
};
struct other_thing : thing {
    int number() override
    {
        return 1;
    }
};

static thing *passed = new other_thing;
int g, sum;

static void *one(void *)
{
    g = 1; // [a]
    return (void *)(long)passed->number();
}

static void *two(void *)
{
    long n = passed->number();
    g = 2; // [b]
    return (void *)n;
}

static void body(void *)
{
    pthread_t a, b;

    pthread_create(&a, nullptr, one, nullptr);
    pthread_create(&b, nullptr, two, nullptr);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
}

int main()
{
    callback_run(passed, body, nullptr);
    return 0;
}
