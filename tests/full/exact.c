/* exact.c - every access to `arena` is told as it happens: the trace must have just these
 *
 * All sizes and types, aligned or not, at random places of an array, from several functions; and
 * what compilers like to change: bit-fields, updates, volatile, unused loads, loops.
 */
#include "say.h"

#include <stdint.h>
#include <string.h>

union arena {
    unsigned char bytes[4096];
    struct {
        uint8_t a;
        uint16_t b;
        uint32_t c;
        uint64_t d;
        float e;
        double f;
        void *g;
        _Bool h;
    } s[64];
};
union arena arena;
volatile unsigned seed = 1;

static unsigned next(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % below;
}

#define ROUND(type, cast)                                                                          \
    do {                                                                                           \
        volatile type *p = (volatile type *)(arena.bytes + next(sizeof(arena) - 16));              \
        type v = (type)next(1 << 24);                                                              \
        uint64_t w = 0;                                                                            \
        memcpy(&w, &v, sizeof(v));                                                                 \
        *p = v;                                                                                    \
        say_write(p, sizeof(v), w);                                                                \
        p = (volatile type *)(arena.bytes +                                                        \
                              next(sizeof(arena) - 16) / sizeof(type) * sizeof(type));             \
        v = *p;                                                                                    \
        w = 0;                                                                                     \
        memcpy(&w, &v, sizeof(v));                                                                 \
        say_read(p, sizeof(v), w);                                                                 \
    } while (0)

static __attribute__((noinline)) void integers(void)
{
    ROUND(uint8_t, );
    ROUND(int16_t, );
    ROUND(uint32_t, );
    ROUND(int64_t, );
}

static __attribute__((noinline)) void others(void)
{
    ROUND(float, );
    ROUND(double, );
}

static __attribute__((noinline)) void fields(volatile __typeof__(arena.s[0]) *s)
{
    s->a = 200;
    say_write(&s->a, 1, 200);
    s->b = 60000;
    say_write(&s->b, 2, 60000);
    s->g = (void *)&s->a;
    say_write(&s->g, 8, (uintptr_t)&s->a);
    s->h = s->a > 3;
    say_read(&s->a, 1, 200);
    say_write(&s->h, 1, 1);
    s->d = -1ull;
    say_write(&s->d, 8, -1ull);
    s->d++;
    say_read(&s->d, 8, -1ull);
    say_write(&s->d, 8, 0);
}

/* Two of one address in one stretch; a load whose value nobody uses. */
static __attribute__((noinline)) void stretch(volatile uint32_t *p, uint32_t v)
{
    uint32_t a, b;

    p[0] = v;
    a = p[0];
    p[0] = v + 1;
    b = p[0];
    (void)p[1];
    say_write(&p[0], 4, v);
    say_read(&p[0], 4, a);
    say_write(&p[0], 4, v + 1);
    say_read(&p[0], 4, b);
    say_read(&p[1], 4, 0);
}

/* Longer than a stretch may be. */
static __attribute__((noinline)) void long_stretch(volatile uint64_t *p)
{
#define FOUR(n) p[n] = n, p[n + 1] = n * n, p[n + 2] = 7, p[n + 3] = p[n]
    FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28);
    for (unsigned n = 0; n < 32; n += 4) {
        say_write(&p[n], 8, n);
        say_write(&p[n + 1], 8, n * n);
        say_write(&p[n + 2], 8, 7);
        say_read(&p[n], 8, n);
        say_write(&p[n + 3], 8, n);
    }
}

int main(void)
{
    say("low", (uintptr_t)&arena);
    say("high", (uintptr_t)(&arena + 1));
    for (unsigned i = 0; i < 2000; i++) {
        integers();
        others();
    }
    fields(&arena.s[5]);
    *(volatile uint32_t *)&arena.bytes[4] = 0;
    say_write(&arena.bytes[4], 4, 0);
    stretch((volatile uint32_t *)arena.bytes, 77);
    long_stretch((volatile uint64_t *)arena.bytes);
    return 0;
}
