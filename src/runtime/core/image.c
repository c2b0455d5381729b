/* image.c - the program's images (executable, libraries) and the modules traced in them
 *
 * Each traced image calls __heddle_register() from a constructor, with its
 * modules; they get their site numbers there, once and for all (also in forked
 * children). What is mapped where goes into the ring's log when a recording
 * starts and when an image registers; libraries that are not traced are seen at
 * these moments too.
 */
#include "abi/rt_system.h"
#include "runtime/untraced/effects_lookup.h"
#include "runtime/untraced/objects.h"
#include "runtime/core/only.h"
#include "runtime/steer/steer.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IMAGES_MAX = 4096, PAGE = 4096 };

/* What is known of an image: by its load address, and its modules if it registered. */
static struct image {
    uintptr_t low, high;
    struct heddle_module *start, *stop;
    bool logged;
    bool traced; /* by -fsanitize=thread: it has no modules */
    bool present;
    bool program; /* the executable file */
    bool first;   /* it was there when recording began */
} images[IMAGES_MAX];
static uint32_t nimages;
static uint32_t next_site; /* site 0 is a site like others */

static struct image *image_find(uintptr_t low, bool add)
{
    uint32_t i;

    for (i = 0; i < nimages; i++)
        if (images[i].low == low)
            return &images[i];
    if (!add || nimages == IMAGES_MAX)
        return NULL;
    images[nimages] = (struct image){ .low = low };
    return &images[nimages++];
}

static void find_build_id(const struct dl_phdr_info *info, struct log_image *out)
{
    int i;

    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;

        if (p->p_type != PT_NOTE)
            continue;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *n = (const void *)at;
            const char *name = at + sizeof(*n), *desc = name + ((n->n_namesz + 3) & ~3u);

            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
                n->n_descsz <= sizeof(out->build_id)) {
                out->build_id_bytes = n->n_descsz;
                memcpy(out->build_id, desc, n->n_descsz);
                return;
            }
            at = desc + ((n->n_descsz + 3) & ~3u);
        }
    }
}

static void find_range(const struct dl_phdr_info *info, uint64_t *low, uint64_t *high)
{
    int i;

    *low = UINT64_MAX;
    *high = 0;
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + p->p_vaddr < *low)
            *low = info->dlpi_addr + p->p_vaddr;
        if (info->dlpi_addr + p->p_vaddr + p->p_memsz > *high)
            *high = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
}

/* Is it an address in code or constants of the image? */
static bool is_constant(const struct dl_phdr_info *info, uintptr_t a)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) &&
            a - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

static int is_inside(struct dl_phdr_info *info, size_t size, void *address)
{
    uint64_t low, high, a = *(const uintptr_t *)address;

    (void)size;
    find_range(info, &low, &high);
    return low <= a && a < high;
}

/* A block that is only read once the image is loaded (tables of functions and names), and leads to
 * no data: what is constant there leads to images. One without any address may not be relocated
 * yet. */
static bool is_dead_end(const struct dl_phdr_info *info, uintptr_t block)
{
    unsigned constants = 0;

    for (uintptr_t at = block; at < block + LOOSE_BYTES; at += 8) {
        uintptr_t word = *(const uintptr_t *)at;

        if (is_constant(info, word))
            constants++;
        else if (word >= PAGE && dl_iterate_phdr(is_inside, &word)) /* most are small numbers */
            return false;
    }
    return constants;
}

/* Where the image is read only again once it is relocated; whole pages. */
static void find_relro(const struct dl_phdr_info *info, uintptr_t *low, uintptr_t *high)
{
    *low = *high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_GNU_RELRO)
            continue;
        *low = info->dlpi_addr + p->p_vaddr;
        *high = (*low + p->p_memsz) & ~(uintptr_t)(PAGE - 1);
    }
}

/* Data without dead ends: nobody can write there, so nothing is ordered by it. In few pieces, since
 * ranges are searched one by one. */
static void note_data(const struct dl_phdr_info *info, uintptr_t low, uintptr_t high, bool system)
{
    enum { PIECES_MAX = 4 };
    uintptr_t block, end;
    unsigned pieces = 1;

    find_relro(info, &block, &end);
    block = (block + LOOSE_BYTES - 1) & ~(uintptr_t)(LOOSE_BYTES - 1);
    for (; block >= low && block + LOOSE_BYTES <= end && end <= high; block += LOOSE_BYTES) {
        if (system || !is_dead_end(info, block))
            continue;
        if (low < block && pieces++ == PIECES_MAX)
            break;
        if (low < block)
            statics_add_range(low, block, system);
        low = block + LOOSE_BYTES;
    }
    if (low < high)
        statics_add_range(low, high, system);
}

/* What pointers may lead to: its data, and its functions. */
static void note_segments(const struct dl_phdr_info *info, bool system)
{
    for (int i = 0; objects_on && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && p->p_flags & PF_W)
            note_data(info, low, low + p->p_memsz, system);
        else if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            statics_add_code(low, low + p->p_memsz, system);
    }
}

static void log_modules(const struct image *im)
{
    struct heddle_module *m;

    for (m = im->start; m < im->stop; m++) {
        struct log_module l = {
            .id = { m->id[0], m->id[1] }, .base = m->base, .sites = m->sites, .flags = m->flags
        };

        if (m->id[0] | m->id[1])
            ring_log(LOG_MODULE, &l, sizeof(l), "", 0);
    }
}

/* How far below its pointer a thread has the variables of the images that were told so far. */
static uint64_t tls_reach;

/* The calling thread's variables of the images that were there from the start. */
bool images_local(uintptr_t *low, uintptr_t *high)
{
    *high = (uintptr_t)pthread_self();
    *low = *high - tls_reach;
    return tls_reach;
}

/* The C library puts the thread-local variables of images that are there from the start one below
 * the other under each thread's pointer, at the same distance in all threads; what a dlopen() adds
 * is there, too, where there is room, else in blocks of its own, which say nothing about other
 * threads. Only what joins the others is told. */
static void log_tls(const struct dl_phdr_info *info, size_t size)
{
    uintptr_t own = (uintptr_t)pthread_self(), start;
    struct log_tls l = { 0 };
    uint64_t gap = 64;
    int i;

    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(void *) ||
        !info->dlpi_tls_data)
        return;
    for (i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            l.bytes = info->dlpi_phdr[i].p_memsz;
            gap += info->dlpi_phdr[i].p_align;
        }
    start = (uintptr_t)info->dlpi_tls_data;
    l.offset = own - start;
    if (!l.bytes || start >= own || l.bytes > l.offset || l.offset - l.bytes > tls_reach + gap)
        return;
    tls_reach = l.offset > tls_reach ? l.offset : tls_reach;
    ring_log(LOG_TLS, &l, sizeof(l), "", 0);
}

static bool logging_all; /* for the first time */

static int log_image(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct log_image l = { .base = info->dlpi_addr };
    const char *path = info->dlpi_name;
    struct image *im;
    char own[4096];
    long n;

    (void)unused;
    find_range(info, &l.low, &l.high);
    if (l.low >= l.high || !strncmp(path, "linux-vdso", 10))
        return 0;
    im = image_find(l.low, true);
    if (!im)
        return 0;
    im->present = true;
    if (im->logged && im->high == l.high)
        return 0;
    im->logged = true;
    im->high = l.high;
    note_segments(info, is_system_library(path));
    l.traced = im->start || im->traced;
    im->program = !*path;
    if (!*path) {
        n = syscall(SYS_readlink, "/proc/thread-self/exe", own, sizeof(own) - 1);
        own[n > 0 ? n : 0] = 0;
        path = own;
    }
    im->first |= logging_all;
    find_build_id(info, &l);
    ring_log(LOG_IMAGE, &l, sizeof(l), path, strlen(path) + 1);
    log_tls(info, size);
    log_modules(im);
    effects_new_image();
    return 0;
}

/* Start lock held, ring there. */
void images_log_all(void)
{
    char line[4096];
    long n, fd;
    uint32_t i;

    fd = syscall(SYS_open, "/proc/thread-self/cmdline", 0);
    if (fd >= 0) {
        n = syscall(SYS_read, fd, line, sizeof(line) - 1);
        syscall(SYS_close, fd);
        if (n > 0)
            ring_log(LOG_PROCESS, "", 0, line, (size_t)n);
    }
    for (i = 0; i < nimages; i++)
        images[i].logged = false;
    logging_all = !rt.forked;
    dl_iterate_phdr(log_image, NULL);
    logging_all = false;
}

bool images_known(uintptr_t a)
{
    for (uint32_t i = 0; i < nimages; i++)
        if (images[i].logged && a - images[i].low < images[i].high - images[i].low)
            return true;
    return false;
}

bool images_traced(uintptr_t a)
{
    for (uint32_t i = 0; i < nimages; i++)
        if (images[i].traced && a - images[i].low < images[i].high - images[i].low)
            return true;
    return false;
}

/* What a traced program is linked with is there for good; with an untraced one, a traced library
 * may have come by dlopen(), and others with it. */
bool images_stay(uintptr_t a)
{
    bool traced = false, first = false;

    for (uint32_t i = 0; i < nimages; i++) {
        traced |= images[i].program && (images[i].start || images[i].traced);
        if (a - images[i].low < images[i].high - images[i].low)
            first = images[i].first;
    }
    return traced && first;
}

void rt_images_update(void)
{
    rt_busy_begin();
    spin_lock(&rt_start_lock);
    if (rt.ring)
        dl_iterate_phdr(log_image, NULL);
    spin_unlock(&rt_start_lock);
    rt_busy_end();
}

/* An image is gone: what is mapped there next has new variables. */
void rt_images_closed(void)
{
    uint32_t i;

    frames_forget_moves();
    rt_busy_begin();
    spin_lock(&rt_start_lock);
    for (i = 0; i < nimages; i++)
        images[i].present = false;
    if (rt.ring)
        dl_iterate_phdr(log_image, NULL);
    spin_unlock(&rt_start_lock);
    rt_busy_end();
    for (i = 0; rt.ring && i < nimages; i++) {
        if (images[i].present || !images[i].logged)
            continue;
        images[i].logged = images[i].traced = false;
        images[i].start = images[i].stop = NULL;
        effects_new_image(); /* what is known of its functions is known no more */
        rt_busy_begin();     /* what it writes is ours */
        if (objects_on)
            statics_remove(images[i].low, images[i].high);
        rt_busy_end();
        rt_alloc((void *)images[i].low, images[i].high - images[i].low, WHERE_CALLER());
        if (objects_on) /* new variables, but no object */
            objects_remove(images[i].low, images[i].high - images[i].low);
    }
}

/* Which image does an address lie in? */
struct range_query {
    uintptr_t address, low;
};

static int image_of(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct range_query *q = arg;
    uint64_t low, high;

    (void)size;
    find_range(info, &low, &high);
    if (q->address < low || q->address >= high)
        return 0;
    q->low = low;
    return 1;
}

static struct image *image_at(const void *address)
{
    struct range_query q = { .address = (uintptr_t)address };

    dl_iterate_phdr(image_of, &q);
    return q.low ? image_find(q.low, true) : NULL;
}

static bool has_no_calls; /* a module without calls of untraced code */
bool rt_tsan_objects;     /* code of an image calls the __tsan_* interface, which has none either */

bool images_tell_calls(void)
{
    return !has_no_calls && !rt_tsan_objects;
}

/* A reader has to know what synchronisation cannot be in the trace. The writer keeps each text
 * once. */
void images_tell_missing_calls(void)
{
    if (rt_options.calls == CALLS_NONE)
        rt_say("calls of untraced code were not recorded (--calls none): what they synchronise is "
               "not seen");
    else if (has_no_calls)
        rt_say("modules built with --no-calls do not record calls of untraced code: what these "
               "synchronise is not seen");
    if (rt_tsan_objects)
        rt_say("objects of -fsanitize=thread (gcc) do not record calls of untraced code: what "
               "these synchronise is not seen");
}

EXPORT void __heddle_register(struct heddle_module *start, struct heddle_module *stop);
EXPORT void __heddle_register(struct heddle_module *start, struct heddle_module *stop)
{
    struct heddle_module *m;
    struct image *im;

    rt_constructor();
    rt_busy_begin();
    spin_lock(&rt_start_lock);
    for (m = start; m < stop; m++) {
        if (!(m->id[0] | m->id[1]) || m->known)
            continue; /* padding of the linker; an image with two kinds of modules comes twice */
        m->base = next_site;
        m->known = 1;
        next_site += m->sites;
        only_module(m);
        steer_module(m);
        if (m->flags & MODULE_FULL)
            rt.full = true;
        has_no_calls |= m->flags & MODULE_NO_CALLS;
    }
    im = image_at(start);
    if (im) {
        im->start = start;
        im->stop = stop;
        im->logged = false;
    }
    if (rt.ring) {
        dl_iterate_phdr(log_image, NULL);
        images_tell_missing_calls();
    }
    spin_unlock(&rt_start_lock);
    rt_busy_end();
    rt_recording(); /* recording starts with the first traced image */
}

/* Code in the image of this address calls the __tsan_* interface. */
void rt_image_traced(const void *code)
{
    struct image *im;

    rt_constructor();
    rt_busy_begin();
    spin_lock(&rt_start_lock);
    im = image_at(code);
    if (im && !im->traced) {
        im->traced = true;
        im->logged = false;
        if (rt.ring) {
            dl_iterate_phdr(log_image, NULL);
            images_tell_missing_calls();
        }
    }
    spin_unlock(&rt_start_lock);
    rt_busy_end();
    rt_recording();
}
