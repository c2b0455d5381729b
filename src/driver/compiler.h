/* compiler.h - the compiler behind a driver: whose it is, and for which machine it compiles
 *
 * The plugin is built for one version of LLVM and the runtime for one kind of machine. What does
 * not fit has to be told before the compiler runs: another clang loads the plugin and crashes.
 */
#ifndef HEDDLE_DRIVER_COMPILER_H
#define HEDDLE_DRIVER_COMPILER_H

#include <stdbool.h>

#include "driver/args.h"

enum { BACKEND_CLANG = 19 }; /* the major version that the plugin is for */

struct backend {
    bool gcc;
    int clang;    /* major version; 0 where it is none or does not say */
    char *target; /* the machine that its name stands for ("aarch64-linux-gnu"), or NULL */
};

/* `command` is the compiler with its first arguments. `ask`: it is not known, run it. */
struct backend backend_look(const struct args *command, bool ask);

/* x86-64 Linux with glibc, by the name that compilers give to machines. */
bool target_is_ours(const char *target);

/* A file that compilers precompile when they are given it without -c; "c-header" behind -x. */
bool is_header(const char *file);
bool is_header_language(const char *language);

#endif
