// Text that a loop copies, several bytes at a time where the compiler makes vectors of them, has
// no pointers in it where none were: what is private stays so. A structure copied so has.
// pair: t t
// pair: s s
// never: m m
// never: m t
#include <pthread.h>

struct box {
    int *mine;
    char text[56];
};

static char shared_text[64];
static struct box shared_box;

__attribute__((noinline)) static void copy(char *to, const char *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i]; // [t]
}

__attribute__((noinline)) static void count(int **mine)
{
    ++**mine; // [m]
}

static void *run(void *arg)
{
    int here = 0, there = 0, *mine = &here;
    char text[56] = "text";
    struct box b = { .mine = &there };

    (void)arg;
    count(&mine);
    copy(shared_text, text, 56 - here);
    copy(text, shared_text, 40 + here);
    count(&mine);
    copy((char *)&shared_box, (char *)&b, (int)sizeof(b) - here);
    ++*shared_box.mine; // [s]
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
