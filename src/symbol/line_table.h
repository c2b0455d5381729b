/* line_table.h - DWARF line tables: the source line of a code address
 *
 * libdw decodes the table of a unit as a whole: a hundred bytes for each row,
 * 20 MB for an amalgamation like SQLite's, in a process that is part of what a
 * recording costs. Here a table is run through once, and every 64th state of
 * its program is kept (24 bytes); a question runs on from the last one before
 * the address.
 * Versions 2 to 5. Of a table that is damaged or unknown nothing is told.
 */
#ifndef HEDDLE_SYMBOL_LINE_TABLE_H
#define HEDDLE_SYMBOL_LINE_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sections of a file in which line tables are. */
struct line_sections {
    struct line_section {
        const uint8_t *data;
        size_t bytes;
    } line, line_str, str;
};

struct line_place {
    uint32_t file, line, column;
};

struct lines;

/* Where libdw has the file open (it unpacks compressed sections). */
void line_sections_find(struct line_sections *s, Elf *elf);

/* The table at an offset of the section; the sections must outlive it. NULL: none, or none that
 * can be read. */
struct lines *lines_read(const struct line_sections *s, uint64_t offset);
void lines_free(struct lines *l);

bool lines_find(const struct lines *l, uint64_t address, struct line_place *out);
/* The name of a file, and the folder it is relative to ("" that of the compilation). */
bool lines_file(const struct lines *l, uint32_t number, const char **folder, const char **name);

#endif
