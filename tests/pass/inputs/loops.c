/* Loops whose accesses can be told of before they begin, and some whose cannot. */
int a[40], sum, limit = 40, few = 3, none = 0, *always = &sum;
char text[40];
extern int other(int i);
__attribute__((noinline)) int other(int i)
{
    __asm__ volatile("" ::: "memory");
    return i;
}

#define LOOP(name, head, body, result)                                                             \
    __attribute__((noinline)) int name(int n)                                                      \
    {                                                                                              \
        int s = 0;                                                                                 \
        head body return result;                                                                   \
    }

LOOP(up, for (int i = 0; i < n; i++), a[i] = i;, s)                   /* @up */
LOOP(down, for (int i = n - 1; i >= 0; i--), s += a[i];, s)           /* @down */
LOOP(bytes, for (int i = 0; i < n; i++), text[i] = (char)(3 * i);, s) /* @bytes */
LOOP(both, for (int i = 0; i < n; i++), a[i] += i;, s)                /* @both */
LOOP(after, int i = 0; do, { s += a[i]; } while (++i < n);, s)        /* @after */
LOOP(gaps, for (int i = 0; i < n; i += 2), s += a[i];, s)             /* @gaps */
LOOP(calls, for (int i = 0; i < n; i++), s += a[other(i)];, s)        /* @call */
LOOP(sees, for (int i = 1; i < n; i++), a[i] = a[i - 1] ^ i;, s)      /* @sees */

__attribute__((noinline)) int behind(int n)
{
    int s = 0;
    for (int i = 0;;) {
        if (++i >= n)
            break;
        s ^= a[i]; /* @behind */
    }
    return s;
}

__attribute__((noinline)) int found(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] == 14) /* @found */
            break;
        s++;
    }
    return s;
}

/* The last round may end before the second access. */
__attribute__((noinline)) int early(int n, int end)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        s ^= a[i]; /* @first */
        if (i == end)
            break;
        text[i] ^= 3; /* @early */
    }
    return s;
}

/* A number of rounds that is known and small: the loop is gone, or as it was. */
__attribute__((noinline)) int shortly(void)
{
    int s = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 3; i++)
        s ^= a[i]; /* @short */
    return s;
}

/* Always the same address, which the stores in the loop might change. */
__attribute__((noinline)) int same(int n, char *to, int *from)
{
    int s = 0;
    for (int i = 0; i < n; i += 3) {
        to[i] = (char)i;
        s += *from; /* @always */
    }
    return s;
}

int main(void)
{
    int n = limit;
    up(n), down(n), bytes(n), both(n), after(n), behind(n);
    up(none), down(none), both(none);
    gaps(n), found(n), calls(n), sees(n), early(n, n / 4), shortly(), same(n, text, always);
    return 0;
}
