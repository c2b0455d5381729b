/* frames.c - a code address to functions and lines, inlined calls expanded
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

/* libdw leaves some names relative to the folder of the compilation. */
static const char *file_name(struct binary *i, const struct unit *unit, const char *name)
{
    Dwarf_Die cu = unit->die;
    Dwarf_Attribute attr;
    struct buf b = { 0 };

    if (!name || tidy_is(name))
        return name;
    tidy_path(&b, dwarf_formstring(dwarf_attr(&cu, DW_AT_comp_dir, &attr)), name);
    name = binary_string(i, b.data);
    buf_release(&b);
    return name;
}

/* Where an inlined function was called. */
static void call_place(struct binary *i, struct sym_frame *to, const struct unit *unit,
                       const struct scope *s)
{
    Dwarf_Die die = s->die, cu = unit->die;
    Dwarf_Files *files;
    size_t n;
    uint32_t file = number_of(&die, DW_AT_call_file);

    if (dwarf_getsrcfiles(&cu, &files, &n) == 0 && file < n)
        to->file = file_name(i, unit, dwarf_filesrc(files, file, NULL, NULL));
    to->line = number_of(&die, DW_AT_call_line);
    to->column = number_of(&die, DW_AT_call_column);
}

static void code_place(struct binary *i, struct sym_frame *to, struct unit *unit, uint64_t address)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
    int n;

    if (!line)
        return;
    to->file = file_name(i, unit, dwarf_linesrc(line, NULL, NULL));
    if (dwarf_lineno(line, &n) == 0)
        to->line = (uint32_t)n;
    if (dwarf_linecol(line, &n) == 0)
        to->column = (uint32_t)n;
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

static int collect(struct binary *i, uint64_t address, struct sym_frame *out)
{
    struct unit *unit = units_find(&i->units, address);
    const struct scope *s = unit ? unit_scope(unit, address) : NULL;
    int n = 1;

    memset(out, 0, sizeof(*out));
    if (unit)
        code_place(i, &out[0], unit, address);
    for (; s && s->inlined && n < SYM_FRAMES_MAX; n++) {
        out[n] = (struct sym_frame){ 0 };
        call_place(i, &out[n], unit, s);
        name_frame(i, &out[n - 1], s, address);
        out[n - 1].inlined = true;
        s = s->around ? &unit->scopes[s->around - 1] : NULL;
    }
    name_frame(i, &out[n - 1], s, address);
    return n;
}

const struct answer *binary_frames(struct binary *i, uint64_t address)
{
    uint32_t *slot = map_put(&i->answered, address, UINT32_MAX);
    struct sym_frame frames[SYM_FRAMES_MAX];
    struct answer a = { 0 };

    if (*slot != UINT32_MAX)
        return &i->answers[*slot];
    if (binary_open(i))
        a.count = collect(i, address, frames);
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
