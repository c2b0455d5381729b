/* scopes.h - what DWARF says of an image: units, function scopes, variables
 *
 * Which unit holds an address is read from all units at once; the inside of a
 * unit is walked when it is first asked for, once, and leaves two arrays:
 *
 *   scopes     the address ranges of functions and of inlined calls, sorted by
 *              start, outer before inner, each with the number of the range
 *              around it. The innermost scope of an address is the last that
 *              starts at or before it, or one of those around that.
 *   variables  those with a fixed address
 *
 * Clang writes no .debug_aranges and no sibling links, so libdw's own look-ups
 * would walk a unit for every question.
 * Split units (.dwo) are read where libdw finds them.
 */
#ifndef HEDDLE_SYMBOL_SCOPES_H
#define HEDDLE_SYMBOL_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scope {
    uint64_t low, high;
    Dwarf_Die die;
    uint32_t depth;  /* in the tree of DIEs */
    uint32_t around; /* number + 1 of the scope that holds this one, 0 none */
    bool inlined;
};

struct variable {
    uint64_t address;
    Dwarf_Die die;
};

struct unit {
    Dwarf_Die die;  /* has the line table */
    Dwarf_Die body; /* has the tree: the same, or that of the split unit */
    bool loaded;
    struct scope *scopes;
    size_t nscopes, scopes_cap;
};

struct units {
    struct unit *list;
    size_t count, cap;
    struct unit_range {
        uint64_t low, high;
        uint32_t unit;
    } *ranges; /* by start */
    size_t nranges, ranges_cap;
    struct variable *variables; /* of the units loaded so far; sorted by units_load_all() */
    size_t nvariables, variables_cap;
    bool all_loaded;
};

void units_init(struct units *u, Dwarf *dwarf); /* dwarf may be NULL */
void units_release(struct units *u);

/* The unit with code at an address, its scopes loaded, or NULL. */
struct unit *units_find(struct units *u, uint64_t address);
/* The innermost scope of an address in the unit, or NULL. */
const struct scope *unit_scope(const struct unit *unit, uint64_t address);
/* The variable that starts at or last before an address, or NULL. Loads all units. */
const struct variable *units_variable(struct units *u, uint64_t address);

#endif
