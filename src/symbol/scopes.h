/* scopes.h - what DWARF says of an image: units, function scopes, variables
 *
 * Which unit holds an address is read from all units at once. The functions of
 * a unit are listed when it is first asked for: 24 bytes each; the calls that
 * were inlined at an address are looked up in the tree of its function, and
 * nothing of that is kept (a unit may have a quarter of a million of them).
 * Variables with a fixed address, or a fixed place in their thread's storage,
 * are listed for all units when the first is asked for.
 *
 * Clang writes no .debug_aranges and no sibling links, so libdw's own look-ups
 * would walk a unit for every question. Functions inside functions are looked
 * for only where an address is in no other one.
 * Split units (.dwo) are read where libdw finds them.
 */
#ifndef HEDDLE_SYMBOL_SCOPES_H
#define HEDDLE_SYMBOL_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/line_table.h"

/* A function, or a call that was inlined. */
struct scope {
    Dwarf_Die die;
    bool inlined;
};

struct variable {
    uint64_t address; /* of a thread-local one: its offset in the image's TLS segment */
    Dwarf_Die die;
};

struct variable_list {
    struct variable *list; /* by address */
    size_t count, cap;
};

struct unit {
    Dwarf_Die die;  /* has the line table */
    Dwarf_Die body; /* has the tree: the same, or that of the split unit */
    bool lines_read;
    struct lines *lines;       /* or NULL */
    bool listed, listed_inner; /* its functions; also those inside others */
    struct function {
        uint64_t low, high;
        Dwarf_Off die;
    } *functions; /* by start */
    size_t nfunctions, functions_cap;
};

struct units {
    struct line_sections sections;
    struct unit *list;
    size_t count, cap;
    struct unit_range {
        uint64_t low, high;
        uint32_t unit;
    } *ranges; /* by start */
    size_t nranges, ranges_cap;
    struct variable_list variables, thread_locals;
    bool variables_listed;
};

void units_init(struct units *u, Dwarf *dwarf); /* dwarf may be NULL */
void units_release(struct units *u);

/* The unit with code at an address, or NULL. */
struct unit *units_find(struct units *u, uint64_t address);
/* The scopes around an address in the unit, innermost first; the last one is a function. How
 * many. */
size_t unit_scopes(struct unit *unit, uint64_t address, struct scope *out, size_t max);
/* The unit's line table, or NULL. */
const struct lines *unit_lines(const struct units *u, struct unit *unit);
/* The variable that starts at or last before an address, or NULL. */
const struct variable *units_variable(struct units *u, uint64_t address);
/* The same for thread-local variables, by offset. */
const struct variable *units_thread_local(struct units *u, uint64_t offset);

#endif
