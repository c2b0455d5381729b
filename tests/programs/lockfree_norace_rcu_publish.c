// A pointer is replaced by an exchange; old versions stay until all readers are joined.
// gcc: also
#include "prog.h"

struct config {
    int a, b;
} *current, *old[10];

THREAD(reader)
{
    for (int i = 0; i < 50; i++) {
        struct config *c = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
        if (c->a != c->b)
            abort();
    }
    return NULL;
}

static struct config *version(int i)
{
    struct config *c = malloc(sizeof(*c));
    *c = (struct config){ i, i };
    return c;
}

int main(void)
{
    current = version(0);
    pthread_t t = start(reader, NULL);
    for (int i = 0; i < 10; i++)
        old[i] = __atomic_exchange_n(&current, version(i + 1), __ATOMIC_ACQ_REL);
    pthread_join(t, NULL);
    for (int i = 0; i < 10; i++)
        free(old[i]);
    free(current);
    return 0;
}
