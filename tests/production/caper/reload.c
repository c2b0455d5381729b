/* A traced function is asked once whether it is traced. When its library has gone, what comes to be
 * at its address is asked again: here a function that nobody compiled. */
#define _GNU_SOURCE
#include "touch.h"
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
TOUCH(touch_traced)
TOUCH(touch_untraced)
enum { PAGE = 4096 };
typedef void taker(int *);
static void *volatile kept;
static NOINLINE void call(taker *volatile f, int *p)
{
    f(p);
}
/* movabs $&kept, %rax; mov %rdi, (%rax); ret */
static void put_code(unsigned char *at)
{
    uint64_t where = (uint64_t)&kept;
    memcpy(at, "\x48\xb8", 2);
    memcpy(at + 2, &where, 8);
    memcpy(at + 10, "\x48\x89\x38\xc3", 4);
}
static void *worker(void *arg)
{
    int *a = calloc(8, 8), *b = calloc(8, 8);
    void *library = dlopen(LIBRARY, RTLD_NOW);
    taker *f = library ? (taker *)dlsym(library, "take") : NULL;
    uintptr_t page = (uintptr_t)f & ~(uintptr_t)(PAGE - 1);

    if (!f || (uintptr_t)f - page < 16 || (uintptr_t)f - page > PAGE - 16)
        exit(2);
    call(f, a);
    call(f, a);
    touch_traced(a); /* PRIVATE touch_traced */
    dlclose(library);
    if (mmap((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)page)
        exit(3);
    put_code((unsigned char *)f);
    call(f, b);
    touch_untraced(b); /* ESCAPED touch_untraced */
    if (kept != b)
        exit(4);
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
