/* binary.c - one ELF file: life cycle and names */
#include "symbol/binary.h"
#include "base/alloc.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct binary *binary_new(const char *path, const uint8_t *id, size_t id_bytes)
{
    struct binary *i = xcalloc(1, sizeof(*i));

    i->path = xstrndup(path, strlen(path));
    i->id_bytes = id_bytes;
    if (id_bytes)
        memcpy(i->id, id, i->id_bytes);
    return i;
}

void binary_free(struct binary *i)
{
    if (i->opened) {
        units_release(&i->units);
        symtab_release(&i->symbols);
        elf_file_close(&i->file);
    }
    free(i->path);
    free(i->answers);
    intern_release(&i->names);
    map_release(&i->answered);
    arena_release(&i->memory);
    free(i);
}

bool binary_open(struct binary *i)
{
    if (i->opened)
        return i->file.elf != NULL;
    i->opened = true;
    elf_file_open(&i->file, i->path, i->id, i->id_bytes, !i->names_only);
    if (!i->file.elf)
        return false;
    symtab_add(&i->symbols, i->file.elf);
    if (i->file.debug_elf)
        symtab_add(&i->symbols, i->file.debug_elf);
    symtab_sort(&i->symbols);
    units_init(&i->units, i->file.dwarf);
    return true;
}

bool binary_tls_segment(struct binary *i, uint64_t *bytes, uint64_t *align)
{
    size_t n;
    GElf_Phdr p;

    if (!binary_open(i) || elf_getphdrnum(i->file.elf, &n) != 0)
        return false;
    for (size_t k = 0; k < n && gelf_getphdr(i->file.elf, (int)k, &p); k++)
        if (p.p_type == PT_TLS) {
            *bytes = p.p_memsz;
            *align = p.p_align;
            return true;
        }
    return false;
}

const char *binary_problem(struct binary *i)
{
    binary_open(i);
    return i->file.problem;
}

const char *binary_string(struct binary *i, const char *s)
{
    return intern_get(&i->names, intern_put(&i->names, s, strlen(s)));
}

const char *binary_demangled(struct binary *i, const char *linkage_name)
{
    struct buf b = { 0 };
    const char *name = linkage_name;

    if (sym_demangle(linkage_name, &b))
        name = binary_string(i, b.data);
    buf_release(&b);
    return name;
}

const char *binary_die_name(Dwarf_Die *die, bool *is_linkage)
{
    Dwarf_Attribute attr;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
        name = dwarf_formstring(&attr);
    *is_linkage = name != NULL;
    return name ? name : dwarf_diename(die);
}
