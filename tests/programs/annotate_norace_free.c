// A free while accesses are ignored is ignored as well.
#include "prog.h"
#include <heddle.h>

static int told;
static int *block;

THREAD(user)
{
    block[0] = 1;
    tell(&told);
    return NULL;
}

int main(void)
{
    pthread_t t;
    block = malloc(sizeof(int));
    pthread_create(&t, NULL, user, NULL);
    await(&told);
    HEDDLE_IGNORE_BEGIN();
    free(block);
    HEDDLE_IGNORE_END();
    pthread_join(t, NULL);
    return 0;
}
