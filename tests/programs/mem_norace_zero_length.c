// Copies of nothing touch nothing, wherever they point.
#include "prog.h"

char buffer[16];
volatile size_t none = 0;

THREAD(work)
{
    memcpy(buffer, buffer + 8, none);
    memset(buffer, 1, none);
    memmove(buffer + 4, buffer, none);
    strncpy(buffer, "abc", none);
    USE(memcmp(buffer, buffer + 1, none) + snprintf(NULL, none, "%d", 5));
    return NULL;
}

int main(void)
{
    pthread_t t = start(work, NULL);
    memset(buffer, 2, sizeof(buffer));
    pthread_join(t, NULL);
    return buffer[0] - 2;
}
