/* demangle.c - readable C++ names, by the C++ library's own demangler */
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

/* Of libstdc++ (<cxxabi.h>); has a C interface. */
extern char *__cxa_demangle(const char *name, char *out, size_t *bytes, int *status);

/* Names come from files; a demangler recurses as deep as a name says. Real ones of heavily
 * templated code reach a few thousand bytes. */
enum { MANGLED_MAX = 1 << 14 };

bool sym_demangle(const char *linkage_name, struct buf *out)
{
    char *name = NULL;
    int status = -1;

    if (linkage_name[0] == '_' && linkage_name[1] == 'Z' && strlen(linkage_name) <= MANGLED_MAX)
        name = __cxa_demangle(linkage_name, NULL, NULL, &status);
    buf_addstr(out, name && status == 0 ? name : linkage_name);
    free(name);
    return name != NULL;
}
