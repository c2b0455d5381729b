/* symtab.c - functions and variables of ELF symbol tables, by address */
#include "symbol/symtab.h"
#include "base/alloc.h"
#include "base/sorted.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

void symtab_release(struct symtab *t)
{
    free(t->code.list);
    free(t->data.list);
    free(t->tls.list);
    *t = (struct symtab){ 0 };
}

static uint8_t rank_of(const GElf_Sym *sym)
{
    int bind = GELF_ST_BIND(sym->st_info);

    return (uint8_t)((bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2) + (sym->st_size ? 0 : 4));
}

static void add_symbol(struct symtab *t, const GElf_Sym *sym, const char *name)
{
    int type = GELF_ST_TYPE(sym->st_info);
    struct symtab_list *l = &t->code;

    if (!name || !name[0] || sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
        return;
    if (type == STT_OBJECT || type == STT_COMMON)
        l = &t->data;
    else if (type == STT_TLS)
        l = &t->tls;
    else if (type != STT_FUNC && type != STT_GNU_IFUNC)
        return;
    if (l != &t->code && !sym->st_size)
        return;
    GROW(l->list, l->cap, l->count + 1);
    l->list[l->count++] = (struct symtab_symbol){
        .address = sym->st_value,
        .size = sym->st_size,
        .name = name,
        .rank = rank_of(sym),
    };
}

static void add_table(struct symtab *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
    Elf_Data *d = elf_getdata(scn, NULL);
    size_t n = d && h->sh_entsize ? h->sh_size / h->sh_entsize : 0;
    GElf_Sym sym;

    for (size_t i = 1; i < n && gelf_getsym(d, (int)i, &sym); i++)
        add_symbol(t, &sym, elf_strptr(elf, h->sh_link, sym.st_name));
}

void symtab_add(struct symtab *t, Elf *elf)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr h;

    while ((scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &h) && (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM))
            add_table(t, elf, scn, &h);
}

static int compare_symbols(const void *a, const void *b)
{
    const struct symtab_symbol *x = a, *y = b;
    size_t nx, ny;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    nx = strlen(x->name);
    ny = strlen(y->name);
    return nx != ny ? (nx < ny ? -1 : 1) : strcmp(x->name, y->name);
}

static void sort_list(struct symtab_list *l)
{
    size_t kept = 0;

    if (l->count)
        qsort(l->list, l->count, sizeof(*l->list), compare_symbols);
    for (size_t i = 0; i < l->count; i++)
        if (kept == 0 || l->list[kept - 1].address != l->list[i].address)
            l->list[kept++] = l->list[i];
    l->count = kept;
}

void symtab_sort(struct symtab *t)
{
    sort_list(&t->code);
    sort_list(&t->data);
    sort_list(&t->tls);
}

const struct symtab_symbol *symtab_find(const struct symtab_list *l, uint64_t address)
{
    size_t n = sorted_up_to(l->list, l->count, sizeof(*l->list), address);
    const struct symtab_symbol *last = n ? &l->list[n - 1] : NULL;

    return last && last->size && address - last->address >= last->size ? NULL : last;
}
