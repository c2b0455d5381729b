// One thread closes what the others use: too late for one, too early for the other.
// race: w c
// race: r c
// gcc: also
#include "prog.h"
#include <fcntl.h>

int ends[2], written, finished;

THREAD(writer)
{
    char text[4] = "abc";

    if (write(ends[1], text, sizeof(text)) < 0) // [w]
        return NULL;
    tell(&written);
    return NULL;
}

THREAD(reader)
{
    char text[4];

    await(&finished);
    USE(read(ends[1], text, 0)); // [r]
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    if (pipe(ends))
        return 2;
    a = start(writer, NULL);
    b = start(reader, NULL);
    await(&written);
    close(ends[1]); // [c]
    tell(&finished);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(ends[0]);
    return 0;
}
