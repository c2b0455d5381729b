/* data.c - a data address, or a place in thread-local storage, to the variable and member there
 *
 * DWARF has the variable's name and type; the symbol table, which also covers
 * code without debug information, its name and size. The names of compiler
 * copies ("counter.0", "table.lto_priv.1") lose what was added.
 */
#include "symbol/binary.h"
#include "symbol/path.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* "ns::q" for a variable in namespace ns, "f::counter" for a static of function f. */
static void add_scope_names(struct buf *b, Dwarf_Die *die)
{
    Dwarf_Die *scopes = NULL;
    int n = dwarf_getscopes_die(die, &scopes);

    for (int i = n - 1; i > 0; i--) { /* the variable itself comes first, the unit last */
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);

        if (name && (tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
                     tag == DW_TAG_structure_type || tag == DW_TAG_class_type))
            buf_addf(b, "%s::", name);
    }
    free(scopes);
}

/* Of a function that was inlined everywhere clang leaves no name, but calls its static variables
 * "f.counter". */
static void add_symbol_scope(struct buf *b, const char *name, const char *symbol)
{
    const char *dot = strrchr(symbol, '.');

    if (dot && dot > symbol && strcmp(dot + 1, name) == 0)
        buf_addf(b, "%.*s::", (int)(dot - symbol), symbol);
}

/* gcc leaves the linkage names of local statics to the symbol table. */
static void data_add_name(struct buf *b, Dwarf_Die *die, const struct symtab_symbol *symbol)
{
    bool is_linkage;
    const char *name = binary_die_name(die, &is_linkage);
    Dwarf_Attribute attr;
    Dwarf_Die home;

    if (!is_linkage && symbol && strncmp(symbol->name, "_Z", 2) == 0) {
        name = symbol->name;
        is_linkage = true;
    }
    if (is_linkage) {
        sym_demangle(name, b);
        return;
    }
    /* The scopes are those of the declaration. */
    if (dwarf_attr(die, DW_AT_specification, &attr) && dwarf_formref_die(&attr, &home))
        add_scope_names(b, &home);
    else
        add_scope_names(b, die);
    name = name ? name : "?";
    if (b->len == 0 && symbol)
        add_symbol_scope(b, name, symbol->name);
    buf_addstr(b, name);
}

/* `v`: the variable that starts at or last before the address. */
static int from_dwarf(struct binary *i, const struct variable *v,
                      const struct symtab_symbol *symbol, uint64_t address, uint64_t bytes,
                      struct sym_data *out)
{
    Dwarf_Die die, type;
    struct buf text = { 0 };
    bool typed;

    if (!v)
        return 0;
    die = v->die;
    typed = path_type(&die, &type);
    out->offset = address - v->address;
    out->size = typed ? path_type_bytes(&type) : 0;
    if (symbol && symbol->address != v->address)
        symbol = NULL;
    if (!out->size && symbol)
        out->size = symbol->size;
    if (out->offset >= out->size)
        return 0;
    data_add_name(&text, &die, symbol);
    out->name = binary_string(i, text.data);
    out->path_offset = typed ? path_append(&text, &type, out->offset, bytes) : out->offset;
    out->path = binary_string(i, text.data);
    buf_release(&text);
    return 1;
}

/* Up to ".0", ".lto_priv.1", ".llvm.123". */
static size_t plain_length(const char *name)
{
    const char *dot = name;

    while ((dot = strchr(dot + 1, '.')))
        if ((dot[1] >= '0' && dot[1] <= '9') || strncmp(dot, ".lto_priv", 9) == 0 ||
            strncmp(dot, ".llvm.", 6) == 0)
            return (size_t)(dot - name);
    return strlen(name);
}

static int from_symbols(struct binary *i, const struct symtab_symbol *symbol, uint64_t address,
                        struct sym_data *out)
{
    struct buf plain = { 0 };

    if (!symbol)
        return 0;
    buf_add(&plain, symbol->name, plain_length(symbol->name));
    buf_addch(&plain, 0);
    out->name = binary_demangled(i, binary_string(i, plain.data));
    out->path = out->name;
    out->offset = out->path_offset = address - symbol->address;
    out->size = symbol->size;
    buf_release(&plain);
    return 1;
}

int binary_data(struct binary *i, uint64_t address, uint64_t bytes, struct sym_data *out)
{
    const struct symtab_symbol *symbol;

    *out = (struct sym_data){ 0 };
    if (!binary_open(i))
        return 0;
    symbol = symtab_find(&i->symbols.data, address);
    return from_dwarf(i, units_variable(&i->units, address), symbol, address, bytes, out) ||
           from_symbols(i, symbol, address, out);
}

int binary_thread_local(struct binary *i, uint64_t offset, uint64_t bytes, struct sym_data *out)
{
    const struct symtab_symbol *symbol;

    *out = (struct sym_data){ 0 };
    if (!binary_open(i))
        return 0;
    symbol = symtab_find(&i->symbols.tls, offset);
    return from_dwarf(i, units_thread_local(&i->units, offset), symbol, offset, bytes, out) ||
           from_symbols(i, symbol, offset, out);
}
