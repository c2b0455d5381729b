/* inlined.c - a code address to functions and lines, inlined calls expanded
 *
 * The line table says where the innermost code comes from, each inlined
 * call's entry where the function around it called it. Without debug
 * information the symbol table gives the function.
 */
#include "symbol/binary.h"
#include "base/alloc.h"
#include "symbol/tidy.h"

#include <dwarf.h>
#include <string.h>

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    Dwarf_Word n;

    return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, &n) == 0 ? (uint32_t)n : 0;
}

/* Names are relative to a folder of the table, that one to the folder of the compilation. */
static const char *file_name(struct binary *i, struct unit *unit, uint32_t number)
{
    const struct lines *lines = unit_lines(&i->units, unit);
    Dwarf_Attribute attr;
    struct buf joined = { 0 }, tidy = { 0 };
    const char *folder, *name;

    if (!lines || !lines_file(lines, number, &folder, &name))
        return NULL;
    if (name[0] != '/' && *folder)
        buf_addf(&joined, "%s/", folder);
    buf_addstr(&joined, name);
    tidy_path(&tidy, dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attr)), joined.data);
    name = binary_string(i, tidy.data);
    buf_release(&joined);
    buf_release(&tidy);
    return name;
}

/* Where an inlined function was called. */
static void call_place(struct binary *i, struct sym_frame *to, struct unit *unit,
                       const struct scope *s)
{
    Dwarf_Die die = s->die;

    to->file = file_name(i, unit, number_of(&die, DW_AT_call_file));
    to->line = number_of(&die, DW_AT_call_line);
    to->column = number_of(&die, DW_AT_call_column);
}

static void code_place(struct binary *i, struct sym_frame *to, struct unit *unit, uint64_t address)
{
    const struct lines *lines = unit_lines(&i->units, unit);
    struct line_place at;

    if (!lines || !lines_find(lines, address, &at))
        return;
    to->file = file_name(i, unit, at.file);
    to->line = at.line;
    to->column = at.column;
}

/* The symbol table knows the linkage name of what DWARF only has a plain name for. */
static void name_frame(struct binary *i, struct sym_frame *to, const struct scope *s,
                       uint64_t address)
{
    const struct symtab_symbol *symbol = symtab_find(&i->symbols.code, address);
    Dwarf_Die die;
    bool is_linkage = false;

    if (s) {
        die = s->die;
        to->function = binary_die_name(&die, &is_linkage);
        if (to->function && !is_linkage && !s->inlined && symbol &&
            strncmp(symbol->name, "_Z", 2) == 0)
            to->function = symbol->name;
    } else if (symbol) {
        to->function = symbol->name;
    }
    if (!to->function)
        return;
    to->name = binary_demangled(i, to->function);
    /* The C++ library may be older than the compiler and not know all of its names. */
    if (s && is_linkage && to->name == to->function && dwarf_diename(&die))
        to->name = dwarf_diename(&die);
}

static int frames_collect(struct binary *i, uint64_t address, struct sym_frame *out)
{
    struct unit *unit = units_find(&i->units, address);
    struct scope scopes[SYM_FRAMES_MAX];
    size_t count = unit ? unit_scopes(unit, address, scopes, SYM_FRAMES_MAX) : 0;
    size_t n = count ? count : 1;

    memset(out, 0, n * sizeof(*out));
    if (unit)
        code_place(i, &out[0], unit, address);
    for (size_t k = 0; k < n; k++) {
        name_frame(i, &out[k], count ? &scopes[k] : NULL, address);
        if (k + 1 < n) {
            out[k].inlined = true;
            call_place(i, &out[k + 1], unit, &scopes[k]);
        }
    }
    return (int)n;
}

const struct answer *binary_frames(struct binary *i, uint64_t address)
{
    uint32_t *slot = map_put(&i->answered, address, UINT32_MAX);
    struct sym_frame frames[SYM_FRAMES_MAX];
    struct answer a = { 0 };

    if (*slot != UINT32_MAX)
        return &i->answers[*slot];
    if (binary_open(i))
        a.count = frames_collect(i, address, frames);
    if (a.count == 1 && !frames[0].function && !frames[0].file)
        a.count = 0;
    for (int k = 0; k < a.count; k++)
        if (!frames[k].function)
            frames[k].function = frames[k].name = "?";
    if (a.count) {
        a.frames = arena_alloc(&i->memory, (size_t)a.count * sizeof(*frames));
        memcpy(a.frames, frames, (size_t)a.count * sizeof(*frames));
    }
    *slot = (uint32_t)i->nanswers;
    GROW(i->answers, i->answers_cap, i->nanswers + 1);
    i->answers[i->nanswers] = a;
    return &i->answers[i->nanswers++];
}
