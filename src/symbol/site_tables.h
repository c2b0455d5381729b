/* site_tables.h - the site tables that an instrumented file carries (abi/rt_sites.h)
 *
 *     t = site_tables_open("./prog", &err);
 *     h = site_tables_find(t, module_id);
 *     s = sites_site(h, 12);  sites_string(h, s->file) ...
 *
 * Every table that is handed out was checked once: all numbers in it are in
 * range, strings end within it, chains of inlined frames end. So the
 * accessors check nothing.
 *
 * A damaged table is left out and counted; other things of the compiler's in
 * the section are skipped.
 * Ownership: tables, strings and bitcode belong to the site_tables.
 * Concurrency: read-only after opening, to its users: sites_bitcode() unpacks what nobody has asked
 * for before, and may be called by several threads.
 */
#ifndef HEDDLE_SYMBOL_SITE_TABLES_H
#define HEDDLE_SYMBOL_SITE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "abi/rt_sites.h"

struct site_tables;

/* Of an ELF file. A file without the section has no tables, which is no error. */
struct site_tables *site_tables_open(const char *elf_path, struct error *err);
/* The same without bitcode, which is most of a section: the file does not stay mapped. */
struct site_tables *site_tables_open_small(const char *elf_path, struct error *err);
/* Of a section's bytes, which are copied. Never NULL. */
struct site_tables *site_tables_parse(const void *section, size_t bytes);
void site_tables_close(struct site_tables *t);

/* The table of a module, or NULL. */
const struct sites_header *site_tables_find(const struct site_tables *t, const uint64_t id[2]);
/* All of them, sorted by id. */
size_t site_tables_count(const struct site_tables *t);
const struct sites_header *site_tables_get(const struct site_tables *t, size_t i);
/* Tables that were damaged and left out. */
size_t site_tables_damaged(const struct site_tables *t);

/* ---- parts of a table; i below nsites, nframes ---- */

static inline const struct sites_site *sites_site(const struct sites_header *h, uint32_t i)
{
    return (const struct sites_site *)(const void *)(h + 1) + i;
}

static inline const struct sites_frame *sites_frame(const struct sites_header *h, uint32_t i)
{
    return (const struct sites_frame *)(const void *)sites_site(h, h->nsites) + i;
}

static inline const char *sites_string(const struct sites_header *h, uint32_t offset)
{
    return (const char *)sites_frame(h, h->nframes) + offset;
}

/* Append the name of a source file (a site's or frame's `file`) in one spelling for all modules:
 * with the folder of the compilation where it is relative, without "." and "..". Two files "a.c"
 * of different folders stay apart, and a header has one name. Nothing for an unknown file. */
void sites_file(const struct sites_header *h, uint32_t file, struct buf *out);

/* The module's bitcode, NULL where there is none, or it is damaged. Of a table that was handed
 * out. */
const void *sites_bitcode(const struct sites_header *h, size_t *bytes);
bool sites_has_bitcode(const struct sites_header *h); /* or had, before it was damaged */

/* ---- parts of a blob that is packed ---- */

/* Its parts lie within it, and can be as large as they say. `room`: bytes from its start. */
bool sites_packed_is_valid(const struct sites_packed *p, uint64_t room);
/* Its table into `to`, of p->table_bytes bytes; false: it is damaged. */
bool sites_unpack_table(const struct sites_packed *p, void *to);

#endif
