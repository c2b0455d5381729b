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
    free(u->variables.list);
    free(u->thread_locals.list);
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

/* The number that an operation pushes: its own, or one of a table (DW_OP_addrx, DW_OP_constx). */
static bool operand(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *number)
{
    Dwarf_Attribute indexed;

    switch (op->atom) {
    case DW_OP_addr:
    case DW_OP_const1u:
    case DW_OP_const2u:
    case DW_OP_const4u:
    case DW_OP_const8u:
    case DW_OP_constu:
        *number = op->number;
        return true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        return dwarf_getlocation_attr(location, op, &indexed) == 0 &&
               dwarf_formaddr(&indexed, number) == 0;
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        return dwarf_getlocation_attr(location, op, &indexed) == 0 &&
               dwarf_formudata(&indexed, number) == 0;
    default:
        return false;
    }
}

static bool is_tls_op(uint8_t op)
{
    return op == DW_OP_form_tls_address || op == DW_OP_GNU_push_tls_address;
}

static bool is_address_op(uint8_t op)
{
    return op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_GNU_addr_index;
}

/* Where a variable is that is not a local one: an address, or a number and the operation that adds
 * where the thread's storage is. Most expressions are of locals and not taken apart. */
static bool fixed_place(Dwarf_Die *die, uint64_t *place, bool *thread_local_one)
{
    Dwarf_Attribute location;
    Dwarf_Block block;
    Dwarf_Op *ops;
    size_t n;

    if (!dwarf_attr(die, DW_AT_location, &location) ||
        dwarf_whatform(&location) != DW_FORM_exprloc || dwarf_formblock(&location, &block) != 0 ||
        block.length == 0)
        return false;
    if (!is_address_op(block.data[0]) && !is_tls_op(block.data[block.length - 1]))
        return false;
    if (dwarf_getlocation(&location, &ops, &n) != 0 || n == 0 || n > 2 ||
        !operand(&location, &ops[0], place))
        return false;
    *thread_local_one = n == 2 && is_tls_op(ops[1].atom);
    return *thread_local_one || (n == 1 && is_address_op(ops[0].atom));
}

static void add_variable(struct units *u, Dwarf_Die *die)
{
    uint64_t place;
    bool thread_local_one;
    struct variable_list *l;

    if (!fixed_place(die, &place, &thread_local_one) || (place <= 1 && !thread_local_one))
        return;
    l = thread_local_one ? &u->thread_locals : &u->variables;
    GROW(l->list, l->cap, l->count + 1);
    l->list[l->count++] = (struct variable){ place, *die };
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
    if (u->variables_listed)
        return;
    for (size_t i = 0; i < u->count; i++)
        walk_variables(u, &u->list[i].body, 0);
    for (int i = 0; i < 2; i++) {
        struct variable_list *l = i ? &u->thread_locals : &u->variables;

        if (l->count)
            qsort(l->list, l->count, sizeof(*l->list), compare_variables);
    }
    u->variables_listed = true;
}

static const struct variable *last_up_to(const struct variable_list *l, uint64_t address)
{
    size_t n = sorted_up_to(l->list, l->count, sizeof(*l->list), address);

    return n ? &l->list[n - 1] : NULL;
}

const struct variable *units_variable(struct units *u, uint64_t address)
{
    list_variables(u);
    return last_up_to(&u->variables, address);
}

const struct variable *units_thread_local(struct units *u, uint64_t offset)
{
    list_variables(u);
    return last_up_to(&u->thread_locals, offset);
}
