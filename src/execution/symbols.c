/* symbols.c - addresses of variables and functions, from the ELF files' symbol tables
 *
 * The trace tells where each file was mapped, so what its symbol table says of a variable
 * is the variable's address, also where no event has shown it. Names that a file has twice
 * (static variables of two modules) say nothing; neither does a variable of another size.
 * Stripped files have no static names: those addresses are learned from the record, as ever.
 */
#include "execution/exec_inside.h"
#include "base/alloc.h"
#include "symbol/elf_file.h"
#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

struct image_symbols {
    bool is_program; /* the executable: its symbols come before all others of their names */
    struct intern names;
    struct image_symbol {
        uint64_t address, size; /* address 0: there are two */
    } *list;
    size_t cap;
    struct image_place { /* those of one address, ascending */
        uint64_t address, size;
        uint32_t name;
    } *places;
    size_t nplaces;
};

static void add_symbols(struct image_symbols *s, const struct symtab_list *l, uint64_t base)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct symtab_symbol *x = &l->list[i];
        uint32_t known = s->names.count, n = intern_put(&s->names, x->name, strlen(x->name));

        GROW(s->list, s->cap, n + (size_t)1);
        s->list[n] = n == known ? (struct image_symbol){ base + x->address, x->size }
                                : (struct image_symbol){ 0, 0 };
    }
}

static bool elf_has_interpreter(Elf *elf)
{
    size_t n = 0;
    GElf_Phdr h;

    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_INTERP)
            return true;
    return false;
}

static struct image_symbols *read_image(const struct image *m)
{
    struct image_symbols *s = xcalloc(1, sizeof(*s));
    struct elf_file elf;
    struct symtab t = { 0 };

    elf_file_open(&elf, m->path, m->build_id, m->build_id_bytes, false);
    s->is_program = elf.elf && elf_has_interpreter(elf.elf);
    if (elf.elf && m->base) {
        symtab_add(&t, elf.elf);
        symtab_sort(&t);
        add_symbols(s, &t.code, m->base);
        add_symbols(s, &t.data, m->base);
        symtab_release(&t);
    }
    elf_file_close(&elf);
    return s;
}

uint64_t program_symbol_address(struct program *p, const struct module *m,
                                const struct code_symbol *s)
{
    uint32_t image = p->tables->modules[m->number].image, n;
    struct image_symbols **all;

    if (image >= p->tables->nimages || !s->defined || s->thread_local_ || !*s->name)
        return 0;
    if (!p->image_symbols)
        p->image_symbols = xcalloc(p->tables->nimages + 1, sizeof(struct image_symbols *));
    all = &p->image_symbols[image];
    if (!*all)
        *all = read_image(&p->tables->images[image]);
    n = intern_find(&(*all)->names, s->name, strlen(s->name));
    if (n == INTERN_NONE || (s->function == CODE_NONE && (*all)->list[n].size != s->bytes))
        return 0;
    return (*all)->list[n].address;
}

uint64_t program_symbol_value(struct program *p, const struct module *m,
                              const struct code_symbol *s)
{
    uint64_t at = program_symbol_address(p, m, s);

    return at && (s->internal || p->image_symbols[p->tables->modules[m->number].image]->is_program)
               ? at
               : 0;
}

/* ---- what is at an address ---- */

static int by_place(const void *a, const void *b)
{
    const struct image_place *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static void list_places(struct image_symbols *s)
{
    s->places = xcalloc(s->names.count + (size_t)1, sizeof(*s->places));
    for (uint32_t i = 0; i < s->names.count; i++)
        if (s->list[i].address)
            s->places[s->nplaces++] =
                (struct image_place){ s->list[i].address, s->list[i].size, i };
    if (s->nplaces > 1)
        qsort(s->places, s->nplaces, sizeof(*s->places), by_place);
}

static const struct image_place *place_at(struct image_symbols *s, uint64_t address)
{
    size_t low = 0, high;

    if (!s->places)
        list_places(s);
    for (high = s->nplaces; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (s->places[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - s->places[low - 1].address >= s->places[low - 1].size)
        return NULL;
    return &s->places[low - 1];
}

bool program_object_at(struct program *p, uint64_t address, struct module **m, uint32_t *symbol,
                       uint64_t *start)
{
    for (size_t i = 0; i < p->tables->nmodules; i++) {
        uint32_t image = p->tables->modules[i].image;
        const struct image_place *place;
        struct image_symbols *s;

        *m = &p->modules[i];
        if (!(*m)->bitcode || image >= p->tables->nimages || !p->image_symbols ||
            !(s = p->image_symbols[image]) || !(place = place_at(s, address)))
            continue;
        *symbol = p->api->find((*m)->bitcode, intern_get(&s->names, place->name));
        *start = place->address;
        if (*symbol != CODE_NONE)
            return true;
    }
    return false;
}

void program_symbols_release(struct program *p)
{
    for (size_t i = 0; p->image_symbols && i < p->tables->nimages; i++) {
        if (!p->image_symbols[i])
            continue;
        intern_release(&p->image_symbols[i]->names);
        free(p->image_symbols[i]->list);
        free(p->image_symbols[i]->places);
        free(p->image_symbols[i]);
    }
    free(p->image_symbols);
}
