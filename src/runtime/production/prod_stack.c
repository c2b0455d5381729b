/* prod_stack.c - what a sighting needs: stacks, the images they lie in, a slot in the file
 *
 * A stack is walked by the unwind tables of the images (unwind.c), from the stub or the call by
 * which the program came into the runtime. What is on the thread's own stack is there and read as
 * it is (some ns a frame); anything else (a handler's stack, a fiber, astray) through the kernel,
 * which says no instead of faulting. The walk ends where addresses stop growing.
 * Images are looked at when something was seen, which is rare: that is not fast.
 */
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/production/unwind.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, STEP_MAX = 64 << 20 /* no frame is larger, one hopes */ };

/* ---- stacks ---- */

/* A thread's stack, where a mode has been told of it (prod_stack_is); of the main thread the upper
 * end is known, and the kernel puts nothing else near. */
static _Thread_local uintptr_t own_low __attribute__((tls_model("initial-exec"))),
    own_high __attribute__((tls_model("initial-exec")));
enum { MAIN_MOST = 64 << 20 }; /* below the main stack at least 128 MiB are kept free */

/* The loader's; where the main thread's stack starts. */
extern void *__libc_stack_end __attribute__((weak));

void prod_stack_is(uint64_t low, uint64_t bytes)
{
    own_low = low;
    own_high = low + bytes;
}

/* Can the frame be read as it is: is it on the stack that the thread runs on, or on its usual one?
 */
static bool is_own(uintptr_t at)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), end;

    if (own_high)
        return at >= own_low && at <= own_high - sizeof(at);
    end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return here <= at && at <= end - sizeof(at) && end - here < MAIN_MOST;
}

static bool ask_kernel(uintptr_t at, uintptr_t *out)
{
    struct iovec to = { out, sizeof(*out) }, from = { (void *)at, sizeof(*out) };

    return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1L, &from, 1L, 0L) ==
           sizeof(*out);
}

/* The frame that has been reached, and a page of the stack that is known to be there. */
struct walk {
    struct prod_entry at;
    uintptr_t page;
};

static bool read_word(struct walk *w, uintptr_t at, uintptr_t *out)
{
    if (at & 7)
        return false;
    if (at / PAGE != w->page && !is_own(at)) {
        if (!ask_kernel(at, out))
            return false;
        w->page = at / PAGE;
    }
    *out = *(const uintptr_t *)at;
    return true;
}

/* To what a signal interrupted: its registers lie at rsp. */
static bool step_to_interrupted(struct walk *w)
{
    uintptr_t at = w->at.sp + offsetof(ucontext_t, uc_mcontext.gregs);

    return read_word(w, at + REG_RIP * sizeof(greg_t), &w->at.pc) &&
           read_word(w, at + REG_RBP * sizeof(greg_t), &w->at.bp) &&
           read_word(w, at + REG_RSP * sizeof(greg_t), &w->at.sp);
}

static bool step_to_caller(struct walk *w, const struct unwind_rule *u)
{
    uintptr_t cfa = (u->from_rbp ? w->at.bp : w->at.sp) + u->cfa;

    if (cfa <= w->at.sp || cfa - w->at.sp > STEP_MAX ||
        !read_word(w, cfa - sizeof(cfa), &w->at.pc) ||
        (u->rbp && !read_word(w, cfa - u->rbp, &w->at.bp)))
        return false;
    w->at.sp = cfa;
    return w->at.pc != 0;
}

uint32_t prod_backtrace(const struct prod_hit *h, uint64_t *frames, uint32_t room)
{
    struct walk w = { h->from, h->from.sp / PAGE };
    bool returns = true; /* pc is behind a call */
    int saved = errno;
    uint32_t n = 0;

    if (room)
        frames[n++] = h->pc;
    while (n < room) {
        struct unwind_rule u = unwind_rule(w.at.pc - returns);

        if (u.kind == UNWIND_END ||
            !(u.kind == UNWIND_SIGNAL ? step_to_interrupted(&w) : step_to_caller(&w, &u)))
            break;
        returns = u.kind == UNWIND_CALLER;
        frames[n++] = w.at.pc + !returns; /* as if behind a call */
    }
    errno = saved;
    return n;
}

/* ---- images ---- */

static void take_build_id(struct prod_image *im, const char *at, const char *end)
{
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *n = (const void *)at;
        const char *name = at + sizeof(*n), *desc = name + ((n->n_namesz + 3) & ~3u);

        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
            n->n_descsz <= sizeof(im->build_id)) {
            im->build_id_bytes = n->n_descsz;
            memcpy(im->build_id, desc, n->n_descsz);
        }
        at = desc + ((n->n_descsz + 3) & ~3u);
    }
}

/* /proc/self is the main thread's, which has nothing to show once it has ended. */
static void take_path(struct prod_image *im, const char *path)
{
    size_t n = strnlen(path, sizeof(im->path) - 1);

    if (n)
        memcpy(im->path, path, n);
    else
        syscall(SYS_readlink, "/proc/thread-self/exe", im->path, sizeof(im->path) - 1);
}

/* Is it in the file already? A number that several processes count up. */
static bool is_noted(int32_t pid, uint64_t base)
{
    uint32_t n = __atomic_load_n(&rt_control->images, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n && i < PROD_IMAGES_MAX; i++)
        if (rt_control->image[i].pid == pid && rt_control->image[i].base == base)
            return true;
    return false;
}

static void prod_stack_note(const struct prod_image *found)
{
    uint32_t i;

    if (is_noted(found->pid, found->base))
        return;
    i = __atomic_fetch_add(&rt_control->images, 1, __ATOMIC_ACQ_REL);
    if (i >= PROD_IMAGES_MAX) {
        __atomic_store_n(&rt_control->images, PROD_IMAGES_MAX, __ATOMIC_RELEASE);
        __atomic_fetch_add(&rt_control->images_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    rt_control->image[i] = *found;
    rt_control->image[i].end = 0;
    __atomic_store_n(&rt_control->image[i].end, found->end, __ATOMIC_RELEASE);
}

struct wanted_frames {
    const uint64_t *at;
    uint32_t n;
};

static int prod_stack_look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct wanted_frames *f = arg;
    struct prod_image im = { .base = info->dlpi_addr, .start = UINT64_MAX };

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + p->p_vaddr, high = low + p->p_memsz;

        if (p->p_type == PT_LOAD) {
            im.start = low < im.start ? low : im.start;
            im.end = high > im.end ? high : im.end;
        } else if (p->p_type == PT_NOTE) {
            take_build_id(&im, (const char *)low, (const char *)high);
        }
    }
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->at[i] < im.start || f->at[i] >= im.end)
            continue;
        im.pid = (int32_t)syscall(SYS_getpid);
        take_path(&im, info->dlpi_name);
        prod_stack_note(&im);
        break;
    }
    return 0;
}

void prod_note_images(const uint64_t *frames, uint32_t n)
{
    static uint32_t lock; /* two threads of a process would note the same image twice */
    struct wanted_frames f = { frames, n };
    int saved = errno;

    rt_busy_begin();
    spin_lock(&lock);
    dl_iterate_phdr(prod_stack_look_at, &f);
    spin_unlock(&lock);
    rt_busy_end();
    errno = saved;
}

/* ---- slots ---- */

struct prod_sighting *prod_sighting(void)
{
    uint32_t i = __atomic_fetch_add(&rt_control->sightings, 1, __ATOMIC_ACQ_REL);

    if (i < PROD_SIGHTINGS_MAX) {
        rt_control->sighting[i].pid = (int32_t)syscall(SYS_getpid);
        return &rt_control->sighting[i];
    }
    __atomic_store_n(&rt_control->sightings, PROD_SIGHTINGS_MAX, __ATOMIC_RELEASE);
    __atomic_fetch_add(&rt_control->sightings_lost, 1, __ATOMIC_RELAXED);
    return NULL;
}
