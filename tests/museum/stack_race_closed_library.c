// A race inside of a library that is closed before the program ends.
// issue: https://github.com/KatanaGraph/katana/pull/402
// tool: ThreadSanitizer
// there: unusable report; '<unknown module>' in stacks, so dlclose was made to do nothing
// verdict: race; both threads change the library's counter without a lock
// race: count count
// stack: count plugin_work work
// library: stack_closed_plugin.c traced dlopen
#include "prog.h"
#include <dlfcn.h>

static void (*plugin_work)(void);

THREAD(work)
{
    plugin_work();
    return NULL;
}

int main(void)
{
    void *plugin = dlopen("./stack_closed_plugin.so", RTLD_NOW);

    if (!plugin)
        return 1;
    plugin_work = (void (*)(void))dlsym(plugin, "plugin_work");
    run_two(work, work);
    return dlclose(plugin);
}
