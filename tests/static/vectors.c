// Bytes that a loop copies, several at a time where the compiler makes vectors of them, hold no
// pointers: what else is in the structure they come from stays private.
// pair: t t
// never: m m
// never: m t
#include <pthread.h>

struct box {
    int *mine;
    char text[56];
};

static char shared_text[64];

__attribute__((noinline)) static void copy(char *to, const char *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i]; // [t]
}

__attribute__((noinline)) static void count(struct box *b)
{
    ++*b->mine; // [m]
}

static void *run(void *arg)
{
    int here = 0;
    struct box b = { .mine = &here };

    (void)arg;
    count(&b);
    copy(shared_text, (char *)&b, sizeof(b) - here);
    copy(b.text, shared_text, 40 + here);
    count(&b);
    return 0;
}

int main(void)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
