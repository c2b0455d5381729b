/* symtab.h - functions and variables of ELF symbol tables, by address
 *
 * Both .symtab (of the file or its separate debug file) and .dynsym. Of
 * symbols at one address the best stays: global before weak before local, a
 * size before none, then the shorter name.
 * A thread-local variable's address is its offset in the image's TLS segment.
 * Names point into the ELF files.
 */
#ifndef HEDDLE_SYMBOL_SYMTAB_H
#define HEDDLE_SYMBOL_SYMTAB_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_symbol {
    uint64_t address, size;
    const char *name;
    uint8_t rank; /* lower is better */
};

struct symtab {
    struct symtab_list {
        struct symtab_symbol *list; /* by address, one each */
        size_t count, cap;
    } code, data, tls;
};

void symtab_release(struct symtab *t); /* a zeroed struct is empty */
void symtab_add(struct symtab *t, Elf *elf);
void symtab_sort(struct symtab *t); /* after the last symtab_add() */

/* The symbol that holds an address, or NULL. One of size 0 reaches to the next. */
const struct symtab_symbol *symtab_find(const struct symtab_list *l, uint64_t address);

#endif
