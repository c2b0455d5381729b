/* scopes.c - units of an image, the function scopes and variables inside them */
#include "symbol/scopes.h"
#include "base/alloc.h"
#include "base/sorted.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Real trees stay below 60; a damaged file may loop. */
enum { TREE_DEPTH = 256 };

void units_release(struct units *u)
{
    for (size_t i = 0; i < u->count; i++) {
        free(u->list[i].functions);
        lines_free(u->list[i].lines);
    }
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

void units_init(struct units *u, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split;

    *u = (struct units){ 0 };
    if (dwarf)
        line_sections_find(&u->sections, dwarf_getelf(dwarf));
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0)
        if (die.addr && (type == DW_UT_compile || type == DW_UT_skeleton))
            add_unit(u, &die, &split);
    if (u->nranges)
        qsort(u->ranges, u->nranges, sizeof(*u->ranges), sorted_compare);
}

/* ---- inside a unit ---- */

static void add_function(struct unit *unit, Dwarf_Die *die)
{
    ptrdiff_t at = 0;
    Dwarf_Addr base, low, high;

    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (!range_is_real(low, high))
            continue;
        GROW(unit->functions, unit->functions_cap, unit->nfunctions + 1);
        unit->functions[unit->nfunctions++] = (struct function){ low, high, dwarf_dieoffset(die) };
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

static bool is_code(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_lexical_block;
}

static bool may_hold_functions(int tag, bool inner)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return true;
    default:
        return inner && is_code(tag);
    }
}

/* `inner`: also inside functions. */
static void walk_functions(struct unit *unit, Dwarf_Die *parent, bool inner, unsigned depth)
{
    Dwarf_Die die;

    if (depth == TREE_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);

        if (tag == DW_TAG_subprogram)
            add_function(unit, &die);
        if (may_hold_functions(tag, inner) && dwarf_haschildren(&die) > 0)
            walk_functions(unit, &die, inner, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void walk_variables(struct units *u, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;

    if (depth == TREE_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);

        if (tag == DW_TAG_variable)
            add_variable(u, &die);
        if (may_hold_functions(tag, true) && dwarf_haschildren(&die) > 0)
            walk_variables(u, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void list_functions(struct unit *unit, bool inner)
{
    unit->listed = true;
    unit->listed_inner = inner;
    unit->nfunctions = 0;
    walk_functions(unit, &unit->body, inner, 0);
    if (unit->nfunctions)
        qsort(unit->functions, unit->nfunctions, sizeof(*unit->functions), sorted_compare);
}

/* ---- questions ---- */

struct unit *units_find(struct units *u, uint64_t address)
{
    size_t n = sorted_up_to(u->ranges, u->nranges, sizeof(*u->ranges), address);

    if (n == 0 || address >= u->ranges[n - 1].high)
        return NULL;
    return &u->list[u->ranges[n - 1].unit];
}

static const struct function *find_function(const struct unit *unit, uint64_t address)
{
    size_t n = sorted_up_to(unit->functions, unit->nfunctions, sizeof(*unit->functions), address);

    return n && address < unit->functions[n - 1].high ? &unit->functions[n - 1] : NULL;
}

/* The calls that were inlined at an address below `parent`, outermost first, behind the `n` scopes
 * there are. How many there are then. */
static size_t add_inlined(Dwarf_Die *parent, uint64_t address, struct scope *out, size_t n,
                          size_t max, unsigned depth)
{
    Dwarf_Die die;
    size_t found = n;

    if (n == max || depth == TREE_DEPTH || dwarf_child(parent, &die) != 0)
        return n;
    do {
        int tag = dwarf_tag(&die);

        if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, address) > 0) {
            out[n] = (struct scope){ .die = die, .inlined = true };
            return add_inlined(&die, address, out, n + 1, max, depth + 1);
        }
        if (tag == DW_TAG_lexical_block)
            found = add_inlined(&die, address, out, n, max, depth + 1);
    } while (found == n && dwarf_siblingof(&die, &die) == 0);
    return found;
}

size_t unit_scopes(struct unit *unit, uint64_t address, struct scope *out, size_t max)
{
    const struct function *f;
    size_t n;

    if (!unit->listed)
        list_functions(unit, false);
    f = find_function(unit, address);
    if (!f && !unit->listed_inner) {
        list_functions(unit, true);
        f = find_function(unit, address);
    }
    if (!f || !max || !dwarf_offdie(dwarf_cu_getdwarf(unit->body.cu), f->die, &out[0].die))
        return 0;
    out[0].inlined = false;
    n = add_inlined(&out[0].die, address, out, 1, max, 0);
    for (size_t i = 0; i < n / 2; i++) {
        struct scope outer = out[i];

        out[i] = out[n - 1 - i];
        out[n - 1 - i] = outer;
    }
    return n;
}

const struct lines *unit_lines(const struct units *u, struct unit *unit)
{
    Dwarf_Attribute attr;
    Dwarf_Word offset;

    if (!unit->lines_read && dwarf_attr(&unit->die, DW_AT_stmt_list, &attr) &&
        dwarf_formudata(&attr, &offset) == 0)
        unit->lines = lines_read(&u->sections, offset);
    unit->lines_read = true;
    return unit->lines;
}

static int compare_variables(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->die.addr < y->die.addr ? -1 : x->die.addr > y->die.addr;
}

static void list_variables(struct units *u)
{
    for (size_t i = 0; i < u->count; i++)
        walk_variables(u, &u->list[i].body, 0);
    if (u->nvariables)
        qsort(u->variables, u->nvariables, sizeof(*u->variables), compare_variables);
    u->variables_listed = true;
}

const struct variable *units_variable(struct units *u, uint64_t address)
{
    size_t n;

    if (!u->variables_listed)
        list_variables(u);
    n = sorted_up_to(u->variables, u->nvariables, sizeof(*u->variables), address);
    return n ? &u->variables[n - 1] : NULL;
}
