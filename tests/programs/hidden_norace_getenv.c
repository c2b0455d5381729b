// Reading the environment and the locale is no race.
#include "prog.h"
#include <locale.h>

THREAD(work)
{
    USE(getenv("HOME"));
    USE(setlocale(LC_ALL, NULL));
    return NULL;
}

int main(void)
{
    setenv("HEDDLE_TEST_PROGRAM", "1", 1);
    setlocale(LC_ALL, "C");
    run_two(work, work);
    unsetenv("HEDDLE_TEST_PROGRAM");
    return 0;
}
