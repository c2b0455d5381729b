// A library that counts without a lock.
#include <stdlib.h>

int plugin_counter;

void plugin_work(void);

void plugin_work(void)
{
    plugin_counter++; // [count]
}
