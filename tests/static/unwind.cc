// An exception ends a function before it has joined its thread; text that holds a pointer.
// pair: thrown_w thrown_r
// pair: string_w string_r
// never: joined_w thrown_r
#include <cstring>
#include <pthread.h>
#include <string>

static int value, other;
static pthread_t t;
static std::string shared;

static void *run(void *arg)
{
    int *p;

    value++; // [thrown_r]
    memcpy(&p, shared.data(), sizeof p);
    ++*p; // [string_r]
    return arg;
}

__attribute__((noinline)) static void may_throw(int n)
{
    if (n)
        throw n;
}

__attribute__((noinline)) static void start(int n)
{
    pthread_create(&t, 0, run, 0);
    may_throw(n);
    pthread_join(t, 0);
}

int main(int argc, char **)
{
    int *p = new int;

    shared.assign((char *)&p, sizeof p);
    try {
        start(argc);
        other = 1; // [joined_w]
    } catch (int) {
        value = 1; // [thrown_w]
        *p = 1;    // [string_w]
        pthread_join(t, 0);
    }
    return other;
}
