/* linked.h - the instrumented files of a program: itself and the libraries it is linked with
 *
 *     struct linked l = { 0 };
 *     linked_open(&l, "./prog", true, &err);  l.files[0] is the program
 *     linked_site(&l, module_id, index, &header);
 *     linked_release(&l);
 *
 * Libraries are found as the dynamic linker does it (RPATH, LD_LIBRARY_PATH, RUNPATH, its cache's
 * usual folders) without running anything; those without site tables are only counted.
 * Limit: what is loaded by dlopen() has to be named (linked_add()).
 * Ownership: the struct owns all of it. Concurrency: read-only once opened.
 */
#ifndef HEDDLE_SYMBOL_LINKED_H
#define HEDDLE_SYMBOL_LINKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/site_tables.h"

struct linked_file {
    char *path;     /* owned */
    char *build_id; /* owned: hexadecimal, "" for none */
    struct site_tables *tables;
};

struct linked {
    struct linked_file *files; /* those with tables; [0] is the program, whatever it has */
    size_t count, cap;
    char **seen; /* owned: paths looked at */
    size_t nseen, seen_cap;
    char **plain; /* owned: names of libraries that have no tables */
    size_t nplain, plain_cap;
    char **missing; /* owned: names of libraries that were not found */
    size_t nmissing, missing_cap;
};

/* With `libraries` false only the program itself. -1: the program cannot be read. */
int linked_open(struct linked *l, const char *program, bool libraries, struct error *err);
/* One more file and, with `libraries`, what it is linked with. */
int linked_add(struct linked *l, const char *path, bool libraries, struct error *err);
void linked_release(struct linked *l);

/* The table of a module, and its file's number; NULL: no file has it. */
const struct sites_header *linked_find(const struct linked *l, const uint64_t id[2], size_t *file);
/* Sites of all files. */
uint64_t linked_sites(const struct linked *l);

#endif
