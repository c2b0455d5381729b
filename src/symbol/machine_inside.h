/* machine_inside.h - shared by machine.c (the file) and machine_code.c (its instructions) */
#ifndef HEDDLE_SYMBOL_MACHINE_INSIDE_H
#define HEDDLE_SYMBOL_MACHINE_INSIDE_H

#include "symbol/elf_file.h"
#include "symbol/machine.h"

enum section_kind {
    SECTION_OTHER,
    SECTION_CODE,
    SECTION_STUBS,    /* .plt */
    SECTION_RUNTIME,  /* heddle's own, linked into the program */
    SECTION_CONSTANT, /* the loader fills it in, or nobody does */
    SECTION_VARIABLE,
    SECTION_START, /* functions that run before and after the program */
    SECTION_TRACED /* addresses of functions that heddle-cc built */
};

struct machine_section {
    uint64_t low, high;
    const uint8_t *bytes; /* NULL: none in the file */
    enum section_kind kind;
};

/* A word that the loader fills in. */
struct machine_reloc {
    uint64_t at;
    const char *symbol; /* NULL: `value` is an address */
    uint64_t value;
    bool weak;
    bool slot;     /* of the linker's: only code that loads it takes the address */
    bool local;    /* of thread-local storage */
    uint32_t seen; /* by the function of this number, + 1 */
    bool chosen;   /* by a function, when the file is loaded (IFUNC) */
};

struct machine_file {
    struct elf_file elf;
    struct machine_section *sections; /* by address */
    struct machine_reloc *relocs;     /* by address */
    uint64_t *starts;                 /* of functions */
    uint64_t *variables;              /* where variables begin, by address */
    size_t nsections, nrelocs, nstarts, nvariables;
    size_t sections_cap, relocs_cap, starts_cap, variables_cap;
    bool fixed; /* addresses are constants in the code */
};

const struct machine_section *machine_section_at(const struct machine *m, uint64_t address);
/* The first at or behind an address. */
size_t machine_reloc_from(const struct machine *m, uint64_t address);
/* Reads the code of all functions. */
void machine_read_code(struct machine *m);

#endif
