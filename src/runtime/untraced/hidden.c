/* hidden.c - threads that untraced code runs (hidden.h)
 *
 * Libraries that start a thread for a function of the program, and do nothing else in it, are
 * known by name: their threads are the program's. What OpenMP's library does is heard of by other
 * means (openmp.c).
 *
 * Limits: a pool inside an image that gcc's -fsanitize=thread traced is not recognised, and calls
 * of untraced code are not recorded there. A thread that leaves traced code by longjmp over frames
 * of the library opens its next pair late.
 */
#include "runtime/untraced/hidden.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/interpose/interpose.h"
#include "runtime/untraced/objects.h"

bool hidden_threads;
uint64_t hidden_thing;

_Thread_local uint32_t hidden_calls __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
    bool hosted; /* by untraced code */
    bool open;   /* a pair of it is */
    bool marked; /* one is that stands for the calls the thread is in: hidden_thread_created() */
    bool loose;  /* there is no such call on record: until the next one */
    const char *callee; /* of the call it is in, where that is known by name */
} self __attribute__((tls_model("initial-exec")));

/* ---- which threads ---- */

static void *openmp_base; /* of the image */

static void *base_of(const void *code)
{
#ifdef HEDDLE_STATIC
    return (void *)((uintptr_t)code & 0);
#else
    Dl_info info;
    return dladdr(code, &info) ? info.dli_fbase : NULL;
#endif
}

void hidden_ignore_openmp(const void *code)
{
    openmp_base = base_of(code);
}

/* These start a thread for a function that they are given, and for nothing else. */
static bool is_thin(const char *callee)
{
    static const char *const names[] = {
        "g_thread_new",
        "g_thread_try_new",
        "g_thread_create",
        "g_thread_create_full",
        "uv_thread_create",
        "apr_thread_create",
        "SDL_CreateThread",
        "uv_thread_create_ex",
        "_ZN5boost6thread21start_thread_noexceptEv",
        "_ZN5boost6thread21start_thread_noexceptERKNS_17thread_attributesE",
    };

    for (size_t i = 0; callee && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(callee, names[i]))
            return true;
    return false;
}

/* std::thread of a libstdc++ that is linked into the program (-static, -static-libstdc++); the
 * shared one is part of the system (image.c). */
extern const char std_thread[] __asm__("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_"
                                       "StateESt14default_deleteIS1_EEPFvvE") __attribute__((weak));
enum { STD_THREAD_BYTES = 256 }; /* more than it has: 45, with gcc 12 */

static bool is_std_thread(uint64_t where)
{
    uintptr_t caller = (uintptr_t)(where & ~WHERE_PC);

    return std_thread && where & WHERE_PC && caller - (uintptr_t)std_thread < STD_THREAD_BYTES;
}

static bool is_hidden(void *start, uint64_t where)
{
    return objects_on && !is_thin(self.callee) && !is_std_thread(where) && !rt_tsan_objects &&
           statics_is_untraced((uintptr_t)start) && !(openmp_base && base_of(start) == openmp_base);
}

/* ---- pairs ---- */

static void open_pair(void)
{
    rt_busy_begin();
    call_hidden();
    rt_busy_end();
}

static void close_pair(void)
{
    rt_busy_begin();
    return_hidden();
    rt_busy_end();
}

/* The calls that this thread is in did not list the hidden thing, or were not recorded at
 * all, since they pass no pointer: a pair that does. */
void hidden_begins(void)
{
    __atomic_store_n(&hidden_threads, true, __ATOMIC_RELAXED);
    if (!self.marked && !self.open) {
        self.marked = true;
        self.loose = !hidden_calls;
        open_pair();
    }
}

bool hidden_thread_created(void *start, uint64_t where)
{
    if (!rt_recording() || !is_hidden(start, where))
        return false;
    hidden_begins();
    return true;
}

static void unmark(void)
{
    self.marked = self.loose = false;
    close_pair();
}

void hidden_call_begins(const char *callee)
{
    self.callee = callee;
    if (self.loose)
        unmark();
}

/* It stays open until the outermost of them returns. */
void hidden_call_ends(void)
{
    self.callee = NULL;
    if (hidden_calls)
        hidden_calls--;
    if (self.marked && !hidden_calls)
        unmark();
}

void hidden_thread_begins(void)
{
    if (!rt_recording())
        return;
    self.hosted = self.open = true;
    open_pair();
}

void hidden_outermost(bool entered)
{
    if (!self.hosted)
        return;
    if (entered && !self.open) /* it was left in another way than by returning */
        open_pair();
    if (entered)
        close_pair();
    else if (!self.open)
        open_pair();
    self.open = !entered;
}
