/* Odd control flow and linkage: the plugin must neither break nor refuse it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int counter, hits;

static int chosen(int x)
{
    return x + counter;
}
static int (*resolve(void))(int)
{
    return chosen;
}
int through_ifunc(int x) __attribute__((ifunc("resolve")));

static int computed(const char *program)
{
    static void *const step[] = { &&add, &&twice, &&end };
    goto *step[*program++ - 'a'];
add:
    counter++;
    goto *step[*program++ - 'a'];
twice:
    counter *= 2;
    goto *step[*program++ - 'a'];
end:
    return counter;
}

static int jump_asm(int *word)
{
    __asm__ goto("lock; btsl $3, %0; jc %l[was]" : : "m"(*word) : "cc", "memory" : was);
    return 0;
was:
    return 1;
}

static int variable_length(int n)
{
    int sum = 0, array[n];
    for (int i = 0; i < n; i++)
        array[i] = i * counter;
    for (int i = 0; i < n; i++)
        sum += array[i];
    return sum;
}

static long varargs(int n, ...)
{
    va_list ap;
    long sum = 0;
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        sum += i & 1 ? (long)va_arg(ap, double) : va_arg(ap, long);
    va_end(ap);
    return sum;
}

struct mixed {
    char c;
    double d;
    struct {
        short s[3];
        unsigned b : 5, e : 11;
    } in;
} shared, other;

static struct mixed by_value(struct mixed m)
{
    m.in.b += 3;
    m.d *= 2;
    shared = m;
    return m;
}

__attribute__((constructor)) static void early(void)
{
    hits += 100;
}
__attribute__((destructor)) static void late(void)
{
    hits++;
}

int main(void)
{
    int word = 0;
    volatile _Bool flag = 1;
    printf("%d ", computed("abaac"));
    printf("%d ", through_ifunc(3));
    printf("%d", jump_asm(&word));
    printf("%d ", jump_asm(&word));
    printf("%d ", variable_length(5));
    printf("%ld ", varargs(4, 1L, 2.0, 3L, 4.0));
    other = by_value((struct mixed){ 1, 2.5, { { 1, 2, 3 }, 4, 5 } });
    printf("%g %d %d ", other.d, other.in.b, memcmp(&other.d, &shared.d, 8));
    __builtin_memcpy(&shared, &other, 3);
    printf("%d %d\n", flag, hits);
    return 0;
}
