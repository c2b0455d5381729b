/* patch_text.c - instructions and no-ops become jumps and back, while other threads run over them
 *
 * A place is a no-op of 5 bytes, or another single instruction of at least 5 (prod.h).
 * Three steps for up to BATCH no-ops at a time; after each every core that runs one of our
 * threads executes a serialising instruction (membarrier, SYNC_CORE):
 *
 *     b0 b1 b2 b3 b4   as it was    eb fe b2 b3 b4   a jump to itself
 *     eb fe d1 d2 d3                e9 d0 d1 d2 d3   a jump to the cold block
 *
 * The first two bytes never lie across a boundary of 8 (the plugin sees to it), so they change in
 * one store; who comes along meanwhile goes round in place until the last step. No trap is used:
 * int3 kills a thread that has SIGTRAP blocked. HotSpot patches entries in this way.
 *
 * How text is written:
 * 1. pages are made writable for the time, with mprotect(): they are writable and executable
 *    at once, which some systems refuse (SELinux execmod, PR_SET_MDWE);
 * 2. then pages are replaced as a whole by changed copies in a memfd: never writable and
 * executable. The kernel takes care that no thread sees half of it. /proc/self/maps then says
 * memfd. If neither works, text stays as it is, and the error is reported.
 *
 * Limits: a thread of real-time priority that goes round on the only processor waits until the
 * kernel throttles it (0.95 s). A child made by a raw clone() system call in the middle goes round
 * for ever; fork() waits until nothing is being patched. Concurrency: under the lock of patch.c.
 */
#include "runtime/production/patch.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BATCH = 256, /* no-ops that threads may find going round at a time: some tens of microseconds */
    PAGE = 4096,
    RUN_PAGES = 64
};

static const uint8_t nop_bytes[NOP_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const uint8_t here[2] = { 0xeb, 0xfe };

bool text_can_change(struct place *p, bool any)
{
    memcpy(p->original, (const void *)p->nop, NOP_BYTES);
    return (p->nop & 7) != 7 && (any || !memcmp(p->original, nop_bytes, NOP_BYTES));
}

/* ---- serialising ---- */

/* Changing the protection of a page makes the kernel interrupt all cores that run us. */
static void interrupt_all(void)
{
    static char page[2 * PAGE] __attribute__((aligned(PAGE)));

    page[0] = 1;
    syscall(SYS_mprotect, page, PAGE, PROT_READ);
    syscall(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE);
}

static void serialise_all(void)
{
    enum {
        REGISTER = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
        SYNC = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
    };

    if (syscall(SYS_membarrier, SYNC, 0, 0) == 0)
        return;
    if (syscall(SYS_membarrier, REGISTER, 0, 0) == 0 && syscall(SYS_membarrier, SYNC, 0, 0) == 0)
        return;
    interrupt_all();
}

/* ---- writing in place ---- */

static uintptr_t page_of(uintptr_t a)
{
    return a & ~(uintptr_t)(PAGE - 1);
}

/* The pages of all places of the batch, neighbours in one call; places are sorted. */
static int protect_all(struct place *const *batch, size_t n, int prot)
{
    for (size_t i = 0; i < n;) {
        uintptr_t low = page_of(batch[i]->nop), high = low;

        for (; i < n && page_of(batch[i]->nop) <= high; i++)
            high = page_of(batch[i]->nop + NOP_BYTES - 1) + PAGE;
        if (syscall(SYS_mprotect, low, high - low, prot))
            return errno;
    }
    return 0;
}

static void wanted_bytes(const struct place *p, uint8_t *out)
{
    int32_t distance = (int32_t)(p->target - (p->nop + NOP_BYTES));

    memcpy(out, p->original, NOP_BYTES);
    if (p->on)
        return; /* back to what was there */
    out[0] = 0xe9;
    memcpy(out + 1, &distance, sizeof(distance));
}

static void store_head(uintptr_t nop, const uint8_t *two)
{
    uint16_t word;

    memcpy(&word, two, sizeof(word));
    /* one store: it does not leave its 8 bytes */
    __asm__ volatile("movw %1, %0" : "=m"(*(uint16_t *)nop) : "r"(word) : "memory");
}

static void write_batch(struct place *const *batch, size_t n)
{
    uint8_t bytes[NOP_BYTES];

    for (size_t i = 0; i < n; i++)
        store_head(batch[i]->nop, here);
    serialise_all();
    for (size_t i = 0; i < n; i++) {
        wanted_bytes(batch[i], bytes);
        memcpy((void *)(batch[i]->nop + 2), bytes + 2, NOP_BYTES - 2);
    }
    serialise_all();
    for (size_t i = 0; i < n; i++) {
        wanted_bytes(batch[i], bytes);
        store_head(batch[i]->nop, bytes);
    }
    serialise_all();
}

static int change_in_place(struct place *const *batch, size_t n)
{
    int error = protect_all(batch, n, PROT_READ | PROT_WRITE | PROT_EXEC);

    if (!error)
        write_batch(batch, n);
    protect_all(batch, n, PROT_READ | PROT_EXEC);
    return error;
}

/* ---- replacing pages ---- */

/* Pages from `low` on, with the places [0, n) changed, take the place of those that are there. */
static int replace_run(int fd, uintptr_t low, uintptr_t high, struct place *const *batch, size_t n)
{
    static char copy[RUN_PAGES * PAGE];
    size_t bytes = high - low;

    memcpy(copy, (const void *)low, bytes);
    for (size_t i = 0; i < n; i++)
        wanted_bytes(batch[i], (uint8_t *)copy + (batch[i]->nop - low));
    if (syscall(SYS_ftruncate, fd, 0L) || syscall(SYS_pwrite64, fd, copy, bytes, 0L) != (long)bytes)
        return errno;
    if ((void *)syscall(SYS_mmap, low, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                        0L) == MAP_FAILED)
        return errno;
    return 0;
}

/* As many places as lie in one run of pages; returns how many, 0: *error. */
static size_t replace_some(struct place *const *batch, size_t n, int *error)
{
    uintptr_t low = page_of(batch[0]->nop), high = low;
    size_t i;
    int fd;

    for (i = 0; i < n; i++) {
        uintptr_t end = page_of(batch[i]->nop + NOP_BYTES - 1) + PAGE;

        if (end - low > RUN_PAGES * PAGE || (i && page_of(batch[i]->nop) > high))
            break;
        high = end > high ? end : high;
    }
    fd = (int)syscall(SYS_memfd_create, "heddle-text", 1 /* close on exec */);
    *error = fd < 0 ? errno : replace_run(fd, low, high, batch, i);
    if (fd >= 0)
        syscall(SYS_close, fd);
    serialise_all();
    return *error ? 0 : i;
}

static int change_by_pages(struct place *const *batch, size_t n, size_t *done)
{
    int error = 0;

    while (*done < n && !error)
        *done += replace_some(batch + *done, n - *done, &error);
    return error;
}

/* ---- a batch ---- */

static bool is_way(const char *name)
{
    return !strcmp(rt_options.patch, name);
}

static int change_batch(struct place *const *batch, size_t n, size_t *done)
{
    static bool refused; /* in place does not work here */
    int error = EACCES;

    if (is_way("none"))
        return error;
    if (!is_way("replace") && !refused) {
        error = change_in_place(batch, n);
        if (!error)
            *done = n;
        else if (!is_way("write"))
            refused = true;
    }
    if (error && !is_way("write"))
        error = change_by_pages(batch, n, done);
    return error;
}

static void patch_text_run_batch(struct place *const *batch, size_t n, struct text_changes *t)
{
    size_t done = 0;

    if (n && !t->error)
        t->error = change_batch(batch, n, &done);
    for (size_t i = 0; i < done; i++) {
        batch[i]->on = !batch[i]->on;
        t->on += batch[i]->on;
        t->off += !batch[i]->on;
    }
}

/* A handler of the program's, run by this thread in the middle, would go round for ever. */
static uint64_t block_signals(bool block, uint64_t mask)
{
    uint64_t all = ~UINT64_C(0), old = 0;

    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, block ? &all : &mask, &old, sizeof(old));
    return old;
}

void text_change(struct place *places, size_t n, struct text_changes *t)
{
    struct place *batch[BATCH];
    uint64_t mask = block_signals(true, 0);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!places[i].change)
            continue;
        places[i].change = false;
        batch[k++] = &places[i];
        if (k == BATCH) {
            patch_text_run_batch(batch, k, t);
            k = 0;
        }
    }
    patch_text_run_batch(batch, k, t);
    block_signals(false, mask);
}
