// getsubopt() writes where its caller says.
// race: a b
#include "prog.h"

static char *value;

THREAD(first)
{
    char text[] = "size=1,name";
    char *at = text;
    char *const tokens[] = { "name", "size", NULL };

    USE(getsubopt(&at, tokens, &value)); // [a]
    return NULL;
}

THREAD(second)
{
    USE(value); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
