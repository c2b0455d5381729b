/* symbol.h - addresses of a recorded process to functions, lines and variables
 *
 * The images (executable, shared libraries) of a process are added with the
 * addresses they had there; nothing is opened before the first question about
 * an image. Debug information comes from the file itself, or from a separate
 * file with its build id (.build-id) or named in it (.gnu_debuglink). Without
 * any, the ELF symbol tables give function and variable names alone.
 *
 *     s = symbolizer_new();
 *     symbolizer_add_image(s, "/usr/bin/x", base, low, high, id, 20);
 *     n = symbolizer_frames(s, return_address - 1, frames, 16);
 *
 * An image whose file is gone, or has another build id than the one recorded,
 * answers nothing (symbolizer_problem() says why); no call fails otherwise.
 *
 * Ownership: all strings belong to the symbolizer and live as long as it does.
 * Cost: a repeated address is one hash look-up; docs/design/symbols.md has
 * numbers.
 * Concurrency: none; one symbolizer belongs to one thread.
 */
#ifndef HEDDLE_SYMBOL_SYMBOL_H
#define HEDDLE_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct symbolizer;

/* One level of a call stack. What is unknown is NULL or 0; `function` never is. */
struct sym_frame {
    const char *function; /* linkage name ("_ZN1q4pushEi"), else the plain name */
    const char *name;     /* for people: demangled ("q::push(int)") */
    const char *file;     /* as the compiler was given it, with the directory where relative */
    uint32_t line, column;
    bool inlined; /* into the next frame of the answer */
};

/* A global, static or thread-local variable. */
struct sym_data {
    const char *name; /* demangled: "counter", "ns::table" */
    const char *path; /* the member: "table[3].next", "q.head"; the name where no type is known */
    uint64_t offset;  /* of the address from the variable's start */
    uint64_t size;    /* of the variable; 0 unknown */
    uint64_t path_offset; /* of the address from the start of the member */
};

enum { SYM_FRAMES_MAX = 64 };

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/* Frames of a code address, innermost first: inlined functions before the one they are in. For a
 * return address ask for the address - 1. The number of frames, 0 where nothing is known; at most
 * `max`. */
int symbolizer_frames(struct symbolizer *s, uint64_t pc, struct sym_frame *out, int max);
/* 1 and the variable that holds the address, 0 where none is known. The path goes down to the
 * smallest member that holds all `bytes` of the access (0 counts as 1). */
int symbolizer_data(struct symbolizer *s, uint64_t address, uint64_t bytes, struct sym_data *out);
/* The same for the thread-local variables of the image that holds `address`: the one at this offset
 * in the image's TLS segment. */
int symbolizer_thread_local(struct symbolizer *s, uint64_t address, uint64_t offset, uint64_t bytes,
                            struct sym_data *out);
/* The size and alignment of that image's TLS segment; false where it has none. */
bool symbolizer_tls_segment(struct symbolizer *s, uint64_t address, uint64_t *bytes,
                            uint64_t *align);
/* The image that holds an address: its path, or NULL. `offset` (may be NULL): the ELF file's own
 * address. Asks no file. */
const char *symbolizer_image(const struct symbolizer *s, uint64_t address, uint64_t *offset);
/* Why the image that holds an address cannot be asked ("cannot open 'x': No such file or
 * directory", "'x' has another build id than the recorded one"), or NULL. */
const char *symbolizer_problem(struct symbolizer *s, uint64_t address);

/* An image at [low, high); `base` is what an address has above the ELF file's own. build_id may
 * be NULL (0 bytes): then any file will do. 0, or -1 where low >= high or the range overlaps an
 * image that is there. */
int symbolizer_add_image(struct symbolizer *s, const char *path, uint64_t base, uint64_t low,
                         uint64_t high, const uint8_t *build_id, size_t build_id_bytes);
/* The image at `low` answers with function names only; before the first question about it. */
void symbolizer_names_only(struct symbolizer *s, uint64_t low);
/* Where an image starts that overlaps [low, high); UINT64_MAX where none does. */
uint64_t symbolizer_overlap(const struct symbolizer *s, uint64_t low, uint64_t high);
/* The image at `low` is gone (dlclose); 0, or -1 where there is none. Answers given stay valid. */
int symbolizer_remove_image(struct symbolizer *s, uint64_t low);

/* Append the readable form of a linkage name; true if it was one (C++), else it is appended as
 * it is. */
bool sym_demangle(const char *linkage_name, struct buf *out);

#endif
