/* module.c - parts that are loaded only when somebody asks for them */
#include "base/module.h"
#include "base/alloc.h"
#include "base/place.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* Owned by the caller; NULL where there is no such file. */
static char *module_find(const char *file)
{
    const char *folder = getenv("HEDDLE_MODULES");
    char *path = place_find(file);

    if (path || !folder || !*folder)
        return path;
    path = xasprintf("%s/%s", folder, file);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Loading twice gives the same handle. RTLD_LOCAL: its libraries stay out of our names. */
static void *module_load(const char *file, struct error *err)
{
    char *path = module_find(file);
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!path)
        error_set(err, "'%s' is not installed", file);
    else if (!handle)
        error_set(err, "cannot load '%s': %s", file, dlerror());
    free(path);
    return handle;
}

void *module_symbol(const char *module, const char *symbol, struct error *err)
{
    char *file = xasprintf("heddle-%s.so", module);
    void *handle = module_load(file, err);
    void *address = handle ? dlsym(handle, symbol) : NULL;

    if (handle && !address)
        error_set(err, "'%s' is of another version: it has no '%s'", file, symbol);
    free(file);
    return address;
}
