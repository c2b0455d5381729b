/* machine.h - what the machine code of an ELF file may do, function by function
 *
 *     struct machine m;
 *     if (machine_read(&m, "libz.so.1")) ... m.functions ...
 *     machine_release(&m);
 *
 * Code is cut into functions where symbols and unwind tables say that one begins, and read from
 * one end to the other. Of each is known which functions it calls or jumps to, which writable data
 * of the file it names, and the flags below. Writable data is cut into pieces where symbols say
 * that a variable begins, so that the address of a variable is in one piece only; a file without
 * symbols has one piece for each section.
 *
 * Addresses are the file's. Constants that the loader fills in (GOT, tables in RELRO) are followed.
 * Ownership: the struct owns all of it. Concurrency: none; read-only once read.
 */
#ifndef HEDDLE_SYMBOL_MACHINE_H
#define HEDDLE_SYMBOL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_does {
    MACHINE_KERNEL = 1 << 0,     /* system calls that may order threads */
    MACHINE_POINTER = 1 << 1,    /* calls through pointers */
    MACHINE_LOCAL = 1 << 2,      /* thread-local variables */
    MACHINE_STORES = 1 << 3,     /* may store pointers into memory that it was given */
    MACHINE_UNKNOWN = 1 << 4,    /* not understood */
    MACHINE_TRACED = 1 << 5,     /* built by heddle-cc: it records what it does */
    MACHINE_TAKEN = 1 << 6,      /* its address is somewhere */
    MACHINE_KEYS = 1 << 7,       /* looks at thread-specific data */
    MACHINE_SWITCHES = 1 << 8,   /* has labels that nothing names */
    MACHINE_RUNTIME = 1 << 9,    /* of heddle's runtime */
    MACHINE_CLONES = 1 << 10,    /* starts threads by clone() */
    MACHINE_DISGUISES = 1 << 11, /* uses pointers that it computed from something else */
    MACHINE_UNMASKS = 1 << 12    /* returns such a value */
};

struct machine_function {
    uint64_t start, end;
    uint32_t does;
    uint32_t calls, ncalls; /* in `calls` */
    uint32_t refs, nrefs;   /* in `refs` */
};

/* To an address, or to a symbol of any file; system call numbers are known of "syscall". */
struct machine_call {
    uint64_t address;
    const char *symbol; /* NULL: `address` */
    bool harmless;      /* "syscall" with a number that orders nothing */
    bool weak;          /* it may be nowhere, and then is not called */
};

struct machine_symbol {
    const char *name; /* borrowed from the file */
    uint64_t address, bytes;
    bool code, exported, imported; /* imported: `address` says nothing */
    bool chooses;                  /* IFUNC: the function there returns which one is called */
};

struct machine_piece {
    uint64_t low, high;
};

struct machine {
    char *path;
    struct machine_function *functions; /* by address */
    struct machine_call *calls;
    struct machine_call *refs;  /* writable data, or a symbol that may be some */
    struct machine_call *taken; /* functions whose addresses are in data, by address or symbol */
    struct machine_symbol *symbols;
    struct machine_piece *pieces; /* by address */
    size_t nfunctions, ncalls, nrefs, ntaken, nsymbols, npieces;
    size_t functions_cap, calls_cap, refs_cap, taken_cap, symbols_cap, pieces_cap;
    bool traced; /* some of it */
    bool named;  /* has a full symbol table */
    struct machine_file *file;
};

/* False: no ELF file of x86-64, or one without sections. */
bool machine_read(struct machine *m, const char *path);
void machine_release(struct machine *m);

/* NULL: none there. */
struct machine_function *machine_function_at(const struct machine *m, uint64_t address);
/* npieces: none there. */
size_t machine_piece_at(const struct machine *m, uint64_t address);

#endif
