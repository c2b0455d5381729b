/* binary.h - one ELF file with all that is known of it, asked by its own addresses
 *
 * Opened at the first question. Answers are kept, so that a question is
 * answered from the files once.
 */
#ifndef HEDDLE_SYMBOL_BINARY_H
#define HEDDLE_SYMBOL_BINARY_H

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "symbol/elf_file.h"
#include "symbol/scopes.h"
#include "symbol/symbol.h"
#include "symbol/symtab.h"

enum { BINARY_ID_MAX = 64 }; /* bytes of a build id; usual are 8 to 32 */

struct binary {
    char *path;
    uint8_t id[BINARY_ID_MAX];
    size_t id_bytes;
    bool opened;
    bool names_only; /* no lines are wanted: reading its debug information would be a waste */
    struct elf_file file;
    struct symtab symbols;
    struct units units;
    struct intern names; /* all strings of answers that are not in the files */
    struct map answered; /* address -> answer */
    struct answer {
        struct sym_frame *frames;
        int count;
    } *answers;
    size_t nanswers, answers_cap;
    struct arena memory; /* the frames */
};

struct binary *binary_new(const char *path, const uint8_t *id, size_t id_bytes);
void binary_free(struct binary *i);
/* Why it cannot be asked, or NULL. */
const char *binary_problem(struct binary *i);
const struct answer *binary_frames(struct binary *i, uint64_t address); /* inlined.c */
int binary_data(struct binary *i, uint64_t address, uint64_t bytes,
                struct sym_data *out); /* data.c */
int binary_thread_local(struct binary *i, uint64_t offset, uint64_t bytes,
                        struct sym_data *out); /* data.c */

bool binary_tls_segment(struct binary *i, uint64_t *bytes, uint64_t *align);

/* For inlined.c and data.c: open if need be, false where that fails. */
bool binary_open(struct binary *i);
const char *binary_string(struct binary *i, const char *s);
/* The readable form of a linkage name. */
const char *binary_demangled(struct binary *i, const char *linkage_name);
/* The linkage name of a function or variable, else its plain name, or NULL. */
const char *binary_die_name(Dwarf_Die *die, bool *is_linkage);

#endif
