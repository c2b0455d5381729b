/* cc.c - heddle cc, heddle c++: the compiler drivers under another name */
#include "cmd/commands.h"
#include "base/alloc.h"
#include "base/place.h"
#include "cmd/common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cmd_cc(const struct options *o)
{
    const char *name = strcmp(o->command->name, "cc") == 0 ? "heddle-cc" : "heddle-c++";
    char *driver = place_find(name);
    char **argv = xcalloc((size_t)o->narguments + 2, sizeof(*argv));

    memcpy(argv + 1, o->arguments, (size_t)o->narguments * sizeof(*argv));
    argv[0] = driver;
    if (driver)
        execv(driver, argv);
    own_failure("cannot run %s: %s", name, driver ? strerror(errno) : "it is not beside heddle");
    free(driver);
    free(argv);
    return EXIT_OWN_FAILURE;
}
