/* caper_escape.c - an object has escaped: with everything that can be reached from it
 *
 * The paper (5.2): when a pointer to a private object is stored to a global, into an escaped
 * object, or given to a new thread, the object escapes, and transitively all objects reachable from
 * it. In C every aligned word that leads into a private object counts as a pointer, also into its
 * middle. The caller stores after this has returned, so no other thread can have the pointer
 * before all of it is marked.
 *
 * Private objects are reachable from their own thread only, so what is searched here does not
 * change meanwhile, with one exception: a word that looks like a pointer (stale, or no pointer at
 * all) may lead to a private object of another thread. That is marked too, although it need not be;
 * its memory may go away while we look. Small objects are read directly: whoever frees one waits
 * for the reader (escape_wait). Larger ones, which may be mappings or have guard pages, are read by
 * process_vm_readv().
 *
 * Large objects often escape before anything is in them. Pages that were never touched are left
 * out (/proc/self/pagemap): reading one makes the kernel map a page of zeros, and the program's
 * first write then takes another fault, with an interrupt of all cores. That is known of private
 * anonymous memory only (PROCMAP_QUERY, Linux 6.11); of other memory every page is read.
 *
 * Limit: such an object of another thread, marked by mistake, is searched once; a pointer that its
 * thread is about to store there at that moment may be missed, and is then not marked when the
 * object is really given away.
 *
 * Lock: `lock`, held by a busy thread that cannot be cancelled; nothing else is taken inside. Work
 * is a list, not recursion; if it is longer than WORK_MAX everything counts as escaped from then
 * on.
 */
#include "runtime/production/caper.h"
#include "runtime/production/chase_pair.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    WORK_MAX = 1 << 22, /* 32 MiB of address space; used as far as needed */
    DIRECT_BYTES = 4096,
    BUFFER_BYTES = 1 << 15,
    SPARSE_BYTES = 1 << 16, /* from here on it is worth asking (some 3 us) which pages there are */
    ENTRIES = 512
};

static uint32_t lock;
static uintptr_t *work;
static uint32_t nwork;
static uintptr_t reading; /* the object that is read directly right now */
static long pid;
static uint64_t buffer[BUFFER_BYTES / 8];

static bool caper_escape_prepare(void)
{
    void *m;

    if (likely(work))
        return true;
    m = (void *)syscall(SYS_mmap, NULL, WORK_MAX * sizeof(*work), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);
    if (m == MAP_FAILED)
        return false;
    pid = syscall(SYS_getpid);
    work = m;
    return true;
}

static void caper_escape_look_at(const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!own_at(words[i]))
            continue;
        if (nwork == WORK_MAX)
            caper_give_up(CAPER_GAVE_UP);
        else
            work[nwork++] = words[i];
    }
}

/* ---- pages that were never touched ---- */

/* Of linux/fs.h; older headers have it not. */
struct map_query {
    uint64_t size, flags, address;
    uint64_t start, end, vma_flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
enum { VMA_SHARED = 8 };

static bool is_anonymous(uintptr_t low, uintptr_t high)
{
    struct map_query q = { .size = sizeof(q), .address = low };
    long fd = syscall(SYS_open, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    bool found = fd >= 0 && !syscall(SYS_ioctl, fd, _IOWR('f', 17, struct map_query), &q);

    if (fd >= 0)
        syscall(SYS_close, fd);
    return found && q.end >= high && !q.inode && !(q.vma_flags & VMA_SHARED);
}

static struct {
    long fd; /* -1: all pages count as touched */
    uintptr_t first;
    size_t count;
    uint64_t entry[ENTRIES];
} pagemap;

static void open_pagemap(uintptr_t low, uintptr_t high)
{
    pagemap.fd = -1;
    pagemap.count = 0;
    if (high - low >= SPARSE_BYTES && is_anonymous(low, high))
        pagemap.fd = syscall(SYS_open, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
}

static void close_pagemap(void)
{
    if (pagemap.fd >= 0)
        syscall(SYS_close, pagemap.fd);
}

static bool is_touched(uintptr_t page)
{
    if (page - pagemap.first >= pagemap.count) {
        long n = syscall(SYS_pread64, pagemap.fd, pagemap.entry, sizeof(pagemap.entry), page * 8);

        pagemap.first = page;
        pagemap.count = n > 0 ? (size_t)n / 8 : 0;
        if (!pagemap.count)
            return true;
    }
    return pagemap.entry[page - pagemap.first] >> 62; /* it is there, or swapped out */
}

static bool is_any_touched(uintptr_t low, uintptr_t high)
{
    for (uintptr_t page = low >> OWN_PAGE_SHIFT; page <= (high - 1) >> OWN_PAGE_SHIFT; page++)
        if (is_touched(page))
            return true;
    return false;
}

/* ---- following pointers ---- */

/* At most the buffer's bytes. */
static void look_through_piece(uintptr_t at, uintptr_t high)
{
    while (at < high) {
        struct iovec here = { buffer, high - at }, there = { (void *)at, here.iov_len };
        long n = syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L);

        if (n > 0)
            caper_escape_look_at(buffer, (size_t)n / 8);
        if (n == (long)here.iov_len) {
            return;
        } else if (n < 0 && errno != EFAULT) {
            caper_give_up(CAPER_GAVE_UP); /* forbidden: we cannot know what is there */
            return;
        } else { /* a page that cannot be read holds no pointer that anybody can use */
            at = ((at + (n > 0 ? (uintptr_t)n : 0)) | 4095) + 1;
        }
    }
}

static void look_through(uintptr_t low, uintptr_t high)
{
    open_pagemap(low, high);
    for (uintptr_t at = low, end; at < high; at = end) {
        end = (at | (BUFFER_BYTES - 1)) + 1;
        end = end < high ? end : high;
        if (pagemap.fd < 0 || is_any_touched(at, end))
            look_through_piece(at, end);
    }
    close_pagemap();
}

/* One pointer of the list. */
static void caper_escape_follow(uintptr_t pointer)
{
    uintptr_t low, high;

    if (!own_start(pointer, &low))
        return;
    __atomic_store_n(&reading, low, __ATOMIC_SEQ_CST);
    if (own_take(low, &high)) {
        rt_control->counter[CAPER_ESCAPES]++;
        rt_control->counter[CAPER_SCANNED] += high - low;
        if (high - low < DIRECT_BYTES) {
            caper_escape_look_at((const uint64_t *)low, (high - low) / 8);
        } else {
            __atomic_store_n(&reading, 0, __ATOMIC_SEQ_CST);
            look_through(low, high);
        }
    }
    __atomic_store_n(&reading, 0, __ATOMIC_SEQ_CST);
}

static void follow_all(void)
{
    while (nwork)
        caper_escape_follow(work[--nwork]);
}

static _Thread_local int guard __attribute__((tls_model("initial-exec")));

static bool caper_escape_begin(void)
{
    rt_busy_begin();
    guard = pair_guard_begin();
    spin_lock(&lock);
    if (caper_escape_prepare())
        return true;
    caper_give_up(CAPER_GAVE_UP);
    return false;
}

static void end(void)
{
    spin_unlock(&lock);
    pair_guard_end(guard);
    rt_busy_end();
}

void escape(uintptr_t pointer)
{
    int saved = errno;

    if (!own_at(pointer))
        return;
    if (caper_escape_begin()) {
        caper_escape_follow(pointer);
        follow_all();
    }
    end();
    errno = saved;
}

/* The bytes are the caller's own and can be read: it is about to copy them. */
void escape_contents(uintptr_t low, uintptr_t high)
{
    int saved = errno;

    low = (low + 7) & ~(uintptr_t)7;
    for (; low + 8 <= high; low += 8) {
        uintptr_t word = *(const uintptr_t *)low;

        if (likely(!own_at(word)))
            continue;
        if (caper_escape_begin()) {
            caper_escape_follow(word);
            follow_all();
        }
        end();
    }
    errno = saved;
}

/* What is not private holds no pointers to what is. A range may be wrong (EFAULT is what the
 * program wants to see then): it is searched as far as it is private memory. */
void escape_sent(uintptr_t low, uintptr_t bytes)
{
    int saved = errno;
    uintptr_t high = low;

    while (high - low < bytes && own_at(high))
        high = (high | 15) + 1;
    high = high - low < bytes ? high : low + bytes;
    if (high - low < DIRECT_BYTES) {
        escape_contents(low, high);
        return;
    }
    if (caper_escape_begin()) {
        look_through((low + 7) & ~(uintptr_t)7, high);
        follow_all();
    }
    end();
    errno = saved;
}

void escape_wait(uintptr_t freed)
{
    while (unlikely(__atomic_load_n(&reading, __ATOMIC_SEQ_CST) == freed))
        sched_yield();
}

void escape_forked(void)
{
    lock = 0;
    nwork = 0;
    reading = 0;
    pid = syscall(SYS_getpid);
}
