/* exact.c - accesses whose bytes are known, in forms that compilers merge, split and fold
 *
 * Each byte is read and written as often as the source says, whatever instructions do it: the sums
 * that control.c prints (bytes, and where in their pages) are the same for every way to compile.
 */
#include <stdint.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))

enum { N = 200 };
struct record {
    int32_t a, b, c, d;
    int64_t e, f;
    int16_t g, h;
    int8_t i, j;
    double x, y;
    float z;
};
struct all {
    int32_t ints[N];
    uint8_t bytes[N];
    double doubles[N];
    struct record records[4];
    int64_t counts[8];
    __int128 wide[2];
    int32_t (*calls[2])(int32_t);
};
static struct all data __attribute__((aligned(4096)));
static struct all *volatile where __attribute__((aligned(4096))) = &data;

KEEP static int32_t sum(const int32_t *p, long n) /* vectors */
{
    int32_t s = 0;
    for (long i = 0; i < n; i++)
        s += p[i];
    return s;
}

KEEP static void scale(double *p, long n, double by) /* reads and writes */
{
    for (long i = 0; i < n; i++)
        p[i] = p[i] * by + 1;
}

KEEP static void fill(struct record *r) /* neighbours become one store */
{
    r->a = 0;
    r->b = 0;
    r->c = 1;
    r->d = 2;
    r->g = 3;
    r->h = 4;
    r->i = 5;
    r->j = 6;
}

KEEP static int fold(const struct record *r, int32_t v, double w) /* memory operands of all kinds */
{
    int n = 0;
    if (r->a == 17)
        n = 1;
    if (r->e > v)
        n += 2;
    if (r->g & 4)
        n += 4;
    if (r->x + w > 0)
        n += 8;
    if (r->z > 1)
        n += 16;
    return n + (r->c ^ v) * r->d - r->i + r->h;
}

KEEP static void update(struct record *r, int64_t *count,
                        int8_t by) /* one instruction reads and writes */
{
    r->f += 5;
    r->j = (int8_t)(r->j - by);
    *count -= 1;
}

KEEP static int32_t paths(const int32_t *p, int way) /* two paths end alike */
{
    int32_t v;
    if (way > 3) {
        v = p[way] * 3;
        where = where;
        v += p[0];
    } else {
        v = p[way] - 7;
        where = where;
        v += p[0];
    }
    return v;
}

KEEP static __int128 twice(__int128 *p) /* two words */
{
    return *p += 1;
}

KEEP static unsigned text(uint8_t *p, long i, long n) /* base, index, all sizes of displacement */
{
    unsigned s = p[i] + p[i + 100] * 3u;
    p[i + n] = (uint8_t)s;
    return s;
}

KEEP static int32_t choose(const struct record *r, int way) /* a table of jumps in the function */
{
    switch (way) {
    case 0:
        return r->a + 5;
    case 1:
        return r->b * 3;
    case 2:
        return r->c ^ 7;
    case 3:
        return r->d - way;
    case 4:
        return r->e > way;
    case 5:
        return r->g | 8;
    default:
        return r->i;
    }
}

static int32_t twofold(int32_t v)
{
    return v * 2;
}

KEEP static int32_t call(struct all *d, int32_t v) /* a call through memory */
{
    return d->calls[1](v) + 1;
}

int main(void)
{
    struct all *d = where;
    int64_t s = 0;
    d->calls[1] = twofold;
    for (int k = 0; k < 10; k++) {
        s += sum(d->ints, N - k);
        scale(d->doubles, N - k, 0.5);
        fill(&d->records[k & 3]);
        s += fold(&d->records[k & 3], 4, 2.5);
        update(&d->records[2], &d->counts[3], 3);
        s += paths(d->ints, k);
        s += (int64_t)twice(&d->wide[k & 1]);
        s += text(d->bytes, k, 50);
        s += call(d, k);
        s += choose(&d->records[1], k);
    }
    return s == 1 || d->counts[3] != -10 || d->records[2].f != 50;
}
