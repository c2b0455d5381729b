/* launch_elf.c - does an executable carry our runtime, and which kind of code?
 *
 * The runtime's version symbol is in the dynamic symbols of every program that
 * heddle-cc linked (shared libraries need it), and strip leaves those. So it is
 * enough to look through the dynamic strings; no library is needed for it.
 */
#include "cmd/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The start of ABI_VERSION_SYMBOL in abi/abi.h: of any version. */
#define RUNTIME_SYMBOL "__heddle_abi_"

struct image {
    const char *bytes;
    size_t size;
};

/* `bytes` bytes at `offset`, NULL where the file does not have them. */
static const void *part(const struct image *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->size && bytes <= f->size - offset ? f->bytes + offset : NULL;
}

static const Elf64_Ehdr *header(const struct image *f)
{
    const Elf64_Ehdr *h = part(f, 0, sizeof(*h));

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        (h->e_type != ET_EXEC && h->e_type != ET_DYN))
        return NULL;
    return h;
}

static bool has_interpreter(const struct image *f, const Elf64_Ehdr *h)
{
    for (unsigned i = 0; i < h->e_phnum; i++) {
        const Elf64_Phdr *p = part(f, h->e_phoff + i * sizeof(*p), sizeof(*p));

        if (p && p->p_type == PT_INTERP)
            return true;
    }
    return false;
}

static bool names_runtime(const struct image *f, const Elf64_Shdr *strings)
{
    const char *text = part(f, strings->sh_offset, strings->sh_size);

    return text && memmem(text, strings->sh_size, RUNTIME_SYMBOL, strlen(RUNTIME_SYMBOL));
}

/* In the strings of one of its symbol tables; the static one tells about -static programs. */
static bool has_runtime(const struct image *f, const Elf64_Ehdr *h)
{
    for (unsigned i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = part(f, h->e_shoff + i * sizeof(*s), sizeof(*s)), *strings = NULL;

        if (s && (s->sh_type == SHT_DYNSYM || s->sh_type == SHT_SYMTAB))
            strings = part(f, h->e_shoff + s->sh_link * sizeof(*s), sizeof(*s));
        if (strings && names_runtime(f, strings))
            return true;
    }
    return false;
}

/* Sections stay when a program is stripped. */
static bool has_section(const struct image *f, const Elf64_Ehdr *h, const char *name)
{
    const Elf64_Shdr *names = part(f, h->e_shoff + h->e_shstrndx * sizeof(*names), sizeof(*names));
    size_t length = strlen(name) + 1;

    for (unsigned i = 0; names && i < h->e_shnum; i++) {
        const Elf64_Shdr *s = part(f, h->e_shoff + i * sizeof(*s), sizeof(*s));
        const char *text = s ? part(f, names->sh_offset + s->sh_name, length) : NULL;

        if (text && !memcmp(text, name, length))
            return true;
    }
    return false;
}

static bool is_production(const struct image *f, const Elf64_Ehdr *h)
{
    return has_section(f, h, "heddle_patch") && !has_section(f, h, "heddle_functions");
}

static enum program_kind launch_elf_look(const struct image *f)
{
    const Elf64_Ehdr *h = header(f);

    if (!h)
        return PROGRAM_OTHER;
    if (has_runtime(f, h))
        return is_production(f, h) ? PROGRAM_PRODUCTION : PROGRAM_RECORDED;
    return has_interpreter(f, h) ? PROGRAM_PLAIN : PROGRAM_STATIC;
}

enum program_kind program_look(const char *path)
{
    enum program_kind kind = PROGRAM_OTHER;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *map;

    if (fd < 0)
        return kind;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            kind = launch_elf_look(&(struct image){ map, (size_t)st.st_size });
            munmap(map, (size_t)st.st_size);
        }
    }
    close(fd);
    return kind;
}
