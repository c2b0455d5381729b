/* mapped.c - shared mappings of files (mapped.h)
 *
 * A mapping that has gone keeps its place as long as its file is mapped, since its addresses may
 * stand for objects. If they are used again for something else, two objects are one: that can
 * hide a race, and not make one up.
 */
#include "runtime/core/mapped.h"

enum { MAPPED_MAX = 256 }; /* of all files; what is beyond goes by its own addresses */

static struct mapping {
    struct mapped_file file;
    uint64_t address;
    uint64_t born; /* 0: free; the n-th */
    bool gone;
} mappings[MAPPED_MAX];
static struct mapping *const mappings_end = mappings + MAPPED_MAX;
static uint64_t nborn;
static uint32_t lock;
bool mapped_twice;

static void mapped_take(void)
{
    rt_busy_begin();
    spin_lock(&lock);
}

static void mapped_give(void)
{
    spin_unlock(&lock);
    rt_busy_end();
}

static bool is_same_file(const struct mapped_file *a, const struct mapped_file *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool overlap(const struct mapped_file *a, const struct mapped_file *b)
{
    return is_same_file(a, b) && a->low < b->high && b->low < a->high;
}

/* The newest one there, since an older one must have been replaced unseen. */
static struct mapping *mapping_at(uint64_t address)
{
    struct mapping *found = NULL;

    for (struct mapping *m = mappings; m < mappings_end; m++)
        if (m->born && !m->gone && address - m->address < m->file.high - m->file.low &&
            (!found || m->born > found->born))
            found = m;
    return found;
}

static bool is_mapped(const struct mapped_file *file)
{
    for (struct mapping *m = mappings; m < mappings_end; m++)
        if (m->born && !m->gone && is_same_file(&m->file, file))
            return true;
    return false;
}

static void mapping_ends(struct mapping *ended)
{
    struct mapped_file file = ended->file;

    ended->gone = true;
    if (is_mapped(&file))
        return;
    for (struct mapping *m = mappings; m < mappings_end; m++)
        if (is_same_file(&m->file, &file))
            m->born = 0;
}

/* With the lock. */
static bool add(uint64_t address, const struct mapped_file *file)
{
    struct mapping *place = NULL;
    bool twice = false;

    for (struct mapping *m = mappings; m < mappings_end; m++) {
        if (!m->born)
            place = m;
        else
            twice |= overlap(&m->file, file);
    }
    if (place)
        *place = (struct mapping){ .file = *file, .address = address, .born = ++nborn };
    if (twice)
        __atomic_store_n(&mapped_twice, true, __ATOMIC_RELAXED);
    return twice || !place;
}

bool mapped_add(uint64_t address, const struct mapped_file *file)
{
    struct mapping *old;
    bool twice;

    mapped_take();
    old = mapping_at(address); /* MAP_FIXED */
    if (old && old->address == address)
        mapping_ends(old);
    twice = add(address, file);
    mapped_give();
    return twice;
}

void mapped_remove(uint64_t address, uint64_t bytes)
{
    mapped_take();
    for (struct mapping *m = mappings; m < mappings_end; m++)
        if (m->born && !m->gone && m->address >= address &&
            m->address + (m->file.high - m->file.low) <= address + bytes)
            mapping_ends(m);
    mapped_give();
}

bool mapped_move(uint64_t from, uint64_t to, uint64_t bytes)
{
    struct mapping *old;
    bool twice = false;

    mapped_take();
    old = mapping_at(from);
    if (old) {
        struct mapped_file file = old->file;

        file.low += from - old->address;
        file.high = file.low + bytes;
        twice = add(to, &file);
        if (old->address == from)
            mapping_ends(old);
    }
    mapped_give();
    return twice;
}

void mapped_forked(void)
{
    lock = 0;
}

uint64_t mapped_first(uint64_t address)
{
    const struct mapping *here, *first;
    uint64_t offset = 0, found = address;

    mapped_take();
    first = here = mapping_at(address);
    if (here)
        offset = here->file.low + (address - here->address);
    for (const struct mapping *m = mappings; here && m < mappings_end; m++)
        if (m->born && m->born < first->born && is_same_file(&m->file, &here->file) &&
            offset - m->file.low < m->file.high - m->file.low)
            first = m;
    if (here)
        found = first->address + (offset - first->file.low);
    mapped_give();
    return found;
}
