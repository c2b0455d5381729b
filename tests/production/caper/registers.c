/* Published from every kind of register, by instructions of every kind. */
#include <alloca.h>
#include "touch.h"
typedef long two __attribute__((vector_size(16)));
typedef long four __attribute__((vector_size(32)));
static void *there[16] __attribute__((aligned(64)));
static _Thread_local void *volatile of_thread; /* nobody else finds it */
_Thread_local void *volatile of_thread_and_all;
static volatile size_t length = 64;
TOUCH(touch_rdi)
TOUCH(touch_rsi)
TOUCH(touch_rcx)
TOUCH(touch_r9)
TOUCH(touch_callee)
TOUCH(touch_copied)
TOUCH(touch_copied_too)
TOUCH(touch_aligned)
TOUCH(touch_streamed)
TOUCH(touch_half)
TOUCH(touch_wide)
TOUCH(touch_wide_last)
TOUCH(touch_chosen)
TOUCH(touch_thread)
TOUCH(touch_thread_and_all)
TOUCH(touch_stack)
TOUCH(touch_kept)
TOUCH(touch_vector_kept)
TOUCH(touch_never)
static int *fresh(void)
{
    return calloc(4, sizeof(int));
}
static NOINLINE void store_rdi(void *p, void **to)
{
    *to = p;
}
static NOINLINE void store_rsi(void **to, void *p)
{
    *to = p;
}
static NOINLINE void store_others(void **to, long a, long b, void *p, long c, void *q)
{
    to[0] = p;
    to[1] = q;
    to[2] = (void *)(a + b + c);
}
/* Flags are in use across the store. */
static NOINLINE int store_callee(void **to, void *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        to[i & 1] = p;
        sum += *(volatile int *)p < i ? 1 : 2;
    }
    return sum;
}
static NOINLINE void copy_two(void **to, void **from)
{
    void *a = from[0], *b = from[1];
    to[0] = a;
    to[1] = b;
}
static NOINLINE void store_aligned(two *to, two v)
{
    *to = v;
}
static NOINLINE void store_streamed(two *to, two v)
{
    __builtin_nontemporal_store(v, to);
}
static NOINLINE void store_half(long *to, two v)
{
    to[0] = v[1];
}
static NOINLINE __attribute__((target("avx2"))) void store_wide(four *to, long *from)
{
    four v = { from[0], from[1], from[2], from[3] };
    *to = v;
}
static NOINLINE void store_wide_by_words(four *to, long *from)
{
    memcpy(to, from, sizeof *to);
}
static NOINLINE void store_chosen(void **to, void *p, void *q, int which)
{
    *to = which ? p : q;
}
static NOINLINE void store_stack(void *volatile *to, size_t n)
{
    int *p = alloca(n);
    *p = 1;
    *to = p;
    touch_stack(p); /* ESCAPED touch_stack */
    *to = NULL;
}
static void publish_vectors(void)
{
    int *a = fresh(), *b = fresh(), *c = fresh(), *d = fresh(), *e = fresh();
    long words[4] = { 1, (long)d, 3, (long)e };
    store_aligned((two *)&there[8], (two){ 1, (long)a });
    touch_aligned(a); /* ESCAPED touch_aligned */
    store_streamed((two *)&there[8], (two){ (long)b, 2 });
    touch_streamed(b); /* ESCAPED touch_streamed */
    store_half((long *)&there[8], (two){ 0, (long)c });
    touch_half(c); /* ESCAPED touch_half */
    (__builtin_cpu_supports("avx2") ? store_wide : store_wide_by_words)((four *)&there[12], words);
    touch_wide(d);      /* ESCAPED touch_wide */
    touch_wide_last(e); /* ESCAPED touch_wide_last */
}
static void *worker(void *arg)
{
    int *p[10];
    void **own = calloc(4, sizeof *own);
    for (int i = 0; i < 10; i++)
        p[i] = fresh();
    store_rdi(p[0], &there[0]);
    touch_rdi(p[0]); /* ESCAPED touch_rdi */
    store_rsi(&there[1], p[1]);
    touch_rsi(p[1]); /* ESCAPED touch_rsi */
    store_others(&there[2], 1, 2, p[2], 3, p[3]);
    touch_rcx(p[2]); /* ESCAPED touch_rcx */
    touch_r9(p[3]);  /* ESCAPED touch_r9 */
    if (store_callee(&there[5], p[4], 100) != 101)
        abort();
    touch_callee(p[4]); /* ESCAPED touch_callee */
    store_rsi(&own[0], p[5]);
    store_rdi(p[6], &own[1]);
    touch_kept(p[5]); /* PRIVATE touch_kept */
    copy_two(&there[6], own);
    touch_copied(p[5]);     /* ESCAPED touch_copied */
    touch_copied_too(p[6]); /* ESCAPED touch_copied_too */
    publish_vectors();
    store_chosen(&there[0], p[7], p[8], arg != NULL);
    touch_chosen(p[8]); /* ESCAPED touch_chosen */
    store_aligned((two *)own, (two){ (long)p[7], (long)p[7] });
    touch_vector_kept(p[7]); /* PRIVATE touch_vector_kept */
    of_thread = p[9];
    touch_thread(p[9]); /* PRIVATE touch_thread */
    of_thread_and_all = p[9];
    touch_thread_and_all(p[9]); /* ESCAPED touch_thread_and_all */
    store_stack(&there[1], length);
    touch_never(fresh()); /* PRIVATE touch_never */
    return NULL;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
