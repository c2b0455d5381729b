/* module.h - parts that are loaded only when somebody asks for them
 *
 * What needs a big library of others (a solver ...) is built as a shared
 * module, "heddle-NAME.so", so that the command itself starts without it and
 * runs where it is not installed. It is looked for where all our files are
 * (place.h), then in the folder that HEDDLE_MODULES names (tests, odd
 * installations).
 *
 *     const struct backend *b = module_symbol("z3", "heddle_backend_z3", &err);
 *
 * A module is never unloaded. Concurrency: any thread.
 */
#ifndef HEDDLE_BASE_MODULE_H
#define HEDDLE_BASE_MODULE_H

#include "base/error.h"

/* The address of a symbol of the module; NULL and an error that says what is missing. */
void *module_symbol(const char *module, const char *symbol, struct error *err);

#endif
