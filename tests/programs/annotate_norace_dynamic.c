// The older annotations: AnnotateHappensBefore and AnnotateHappensAfter.
#include "prog.h"

void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);

int data, token, told;

THREAD(sender)
{
    data = 1;
    AnnotateHappensBefore(__FILE__, __LINE__, &token);
    tell(&told);
    return NULL;
}

THREAD(receiver)
{
    await(&told);
    AnnotateHappensAfter(__FILE__, __LINE__, &token);
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return data - 2;
}
