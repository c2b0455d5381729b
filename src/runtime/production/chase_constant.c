/* chase_constant.c - memory that nobody can write: waiting for it would be in vain
 *
 * A call like setenv("NAME", "1", 1) reads two constants before it comes to what is shared. The
 * kernel says where the program's headers are; the loader is not asked, which may be waiting for a
 * thread that waits for us.
 */
#include "runtime/production/chase_constant.h"

#include <elf.h>
#include <sys/auxv.h>

static uint64_t base_of(const Elf64_Phdr *header, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (header[i].p_type == PT_PHDR)
            return (uintptr_t)header - header[i].p_vaddr;
    return 0;
}

bool constant_is(uint64_t address)
{
    const Elf64_Phdr *header = (const Elf64_Phdr *)getauxval(AT_PHDR); /* NOLINT: an address */
    uint64_t n = header ? getauxval(AT_PHNUM) : 0, at = address - base_of(header, n);

    for (uint64_t i = 0; i < n; i++)
        if (header[i].p_type == PT_LOAD && !(header[i].p_flags & PF_W) &&
            at - header[i].p_vaddr < header[i].p_memsz)
            return true;
    return false;
}
