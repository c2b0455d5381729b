// Constructors of a library run before main, traced, and start a thread.
// library: library_constructor.c traced
#include "prog.h"

extern int from_constructor;
void library_join(void);

int main(void)
{
    library_join();
    return from_constructor - 2;
}
