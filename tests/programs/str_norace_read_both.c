// Functions that only read a string: strlen, strcmp, strchr, strdup, atoi.
// gcc: also
#include "prog.h"

char text[32] = "1234";

THREAD(reader)
{
    char *copy = strdup(text);
    int same = !strcmp(copy, text) && strchr(text, '3') && atoi(text) == 1234;
    free(copy);
    return (void *)(intptr_t)(same && strlen(text) == 4);
}

int main(void)
{
    text[0] = '1';
    pthread_t a = start(reader, NULL);
    void *other = reader(NULL), *result;
    pthread_join(a, &result);
    text[0] = '2';
    return !result || !other;
}
