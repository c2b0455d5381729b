/* scopes.c - units of an image, the function scopes and variables inside them */
#include "symbol/scopes.h"
#include "base/alloc.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Real trees stay below 60; a damaged file may loop. */
enum { TREE_DEPTH = 256 };

void units_release(struct units *u)
{
    for (size_t i = 0; i < u->count; i++)
        free(u->list[i].scopes);
    free(u->list);
    free(u->ranges);
    free(u->variables);
    *u = (struct units){ 0 };
}

/* ---- which unit ---- */

/* Linkers leave ranges of functions they dropped, at 0 or 1 (or above all addresses). */
static bool range_is_real(uint64_t low, uint64_t high)
{
    return low > 1 && low < high;
}

static void add_unit(struct units *u, Dwarf_Die *die, Dwarf_Die *split)
{
    ptrdiff_t at = 0;
    Dwarf_Addr base, low, high;
    uint32_t number = (uint32_t)u->count;

    GROW(u->list, u->cap, u->count + 1);
    u->list[u->count++] = (struct unit){ .die = *die, .body = split->addr ? *split : *die };
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (!range_is_real(low, high))
            continue;
        GROW(u->ranges, u->ranges_cap, u->nranges + 1);
        u->ranges[u->nranges++] = (struct unit_range){ low, high, number };
    }
}

static int compare_ranges(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;

    return x->low < y->low ? -1 : x->low > y->low;
}

void units_init(struct units *u, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split;

    *u = (struct units){ 0 };
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0)
        if (die.addr && (type == DW_UT_compile || type == DW_UT_skeleton))
            add_unit(u, &die, &split);
    if (u->nranges)
        qsort(u->ranges, u->nranges, sizeof(*u->ranges), compare_ranges);
}

/* ---- inside a unit ---- */

static void add_scope(struct unit *unit, Dwarf_Die *die, uint32_t depth, bool inlined)
{
    ptrdiff_t at = 0;
    Dwarf_Addr base, low, high;

    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (!range_is_real(low, high))
            continue;
        GROW(unit->scopes, unit->scopes_cap, unit->nscopes + 1);
        unit->scopes[unit->nscopes++] = (struct scope){
            .low = low, .high = high, .die = *die, .depth = depth, .inlined = inlined
        };
    }
}

/* DW_OP_addrx: the address is in a table. */
static bool indexed_address(Dwarf_Attribute *location, uint64_t *address)
{
    Dwarf_Op *ops;
    size_t n;
    Dwarf_Attribute number;
    Dwarf_Addr found;

    if (dwarf_getlocation(location, &ops, &n) != 0 || n != 1 ||
        dwarf_getlocation_attr(location, &ops[0], &number) != 0 ||
        dwarf_formaddr(&number, &found) != 0)
        return false;
    *address = found;
    return true;
}

/* Most variables are locals, whose expression starts with something else. */
static bool fixed_address(Dwarf_Die *die, uint64_t *address)
{
    Dwarf_Attribute location;
    Dwarf_Block block;

    if (!dwarf_attr(die, DW_AT_location, &location) ||
        dwarf_whatform(&location) != DW_FORM_exprloc || dwarf_formblock(&location, &block) != 0 ||
        block.length == 0)
        return false;
    if (block.data[0] == DW_OP_addr && block.length == 1 + sizeof(*address)) {
        memcpy(address, block.data + 1, sizeof(*address));
        return true;
    }
    if (block.data[0] == DW_OP_addrx || block.data[0] == DW_OP_GNU_addr_index)
        return indexed_address(&location, address);
    return false;
}

static void add_variable(struct units *u, Dwarf_Die *die)
{
    uint64_t address;

    if (!fixed_address(die, &address) || address <= 1)
        return;
    GROW(u->variables, u->variables_cap, u->nvariables + 1);
    u->variables[u->nvariables++] = (struct variable){ address, *die };
}

static bool may_hold_scopes(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

static void walk(struct units *u, struct unit *unit, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;

    if (depth == TREE_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);

        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            add_scope(unit, &die, depth, tag == DW_TAG_inlined_subroutine);
        else if (tag == DW_TAG_variable)
            add_variable(u, &die);
        if (may_hold_scopes(tag) && dwarf_haschildren(&die) > 0)
            walk(u, unit, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int compare_scopes(const void *a, const void *b)
{
    const struct scope *x = a, *y = b;

    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* The scopes that are open where one starts form a chain through `around`. */
static void link_scopes(struct unit *unit)
{
    uint32_t open = 0;

    for (size_t i = 0; i < unit->nscopes; i++) {
        struct scope *s = &unit->scopes[i];

        while (open && unit->scopes[open - 1].high <= s->low)
            open = unit->scopes[open - 1].around;
        s->around = open;
        open = (uint32_t)i + 1;
    }
}

static void load(struct units *u, struct unit *unit)
{
    if (unit->loaded)
        return;
    unit->loaded = true;
    walk(u, unit, &unit->body, 0);
    if (unit->nscopes)
        qsort(unit->scopes, unit->nscopes, sizeof(*unit->scopes), compare_scopes);
    link_scopes(unit);
}

/* ---- questions ---- */

struct unit *units_find(struct units *u, uint64_t address)
{
    size_t low = 0, high = u->nranges;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (u->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= u->ranges[low - 1].high)
        return NULL;
    load(u, &u->list[u->ranges[low - 1].unit]);
    return &u->list[u->ranges[low - 1].unit];
}

const struct scope *unit_scope(const struct unit *unit, uint64_t address)
{
    size_t low = 0, high = unit->nscopes;
    uint32_t at;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (unit->scopes[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    at = (uint32_t)low;
    while (at && unit->scopes[at - 1].high <= address)
        at = unit->scopes[at - 1].around;
    return at ? &unit->scopes[at - 1] : NULL;
}

static int compare_variables(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->die.addr < y->die.addr ? -1 : x->die.addr > y->die.addr;
}

const struct variable *units_variable(struct units *u, uint64_t address)
{
    size_t low = 0, high;

    if (!u->all_loaded) {
        for (size_t i = 0; i < u->count; i++)
            load(u, &u->list[i]);
        if (u->nvariables)
            qsort(u->variables, u->nvariables, sizeof(*u->variables), compare_variables);
        u->all_loaded = true;
    }
    for (high = u->nvariables; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (u->variables[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &u->variables[low - 1] : NULL;
}
