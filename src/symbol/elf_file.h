/* elf_file.h - an ELF file and where its debug information is
 *
 * Looked for in the order of gdb's manual: in the file itself; by build id in
 * the debug directory (.build-id/ab/cdef.debug); by the name and checksum of
 * .gnu_debuglink beside the file, in .debug/ beside it, in the debug directory.
 * A file of the wrong build id or checksum is passed over.
 * The debug directory is /usr/lib/debug, or $HEDDLE_DEBUG_DIRECTORY.
 */
#ifndef HEDDLE_SYMBOL_ELF_FILE_H
#define HEDDLE_SYMBOL_ELF_FILE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
    char *path;
    int fd, debug_fd;
    Elf *elf;       /* NULL: cannot be used, `problem` says why */
    Elf *debug_elf; /* the separate file, or NULL */
    Dwarf *dwarf;   /* or NULL */
    char *problem;
};

/* With the build id it must have (0 bytes: any). Never fails; see `elf`. Without `debug` its debug
 * information is left alone: only symbol tables answer. */
void elf_file_open(struct elf_file *f, const char *path, const uint8_t *id, size_t id_bytes,
                   bool debug);
void elf_file_close(struct elf_file *f);

#endif
