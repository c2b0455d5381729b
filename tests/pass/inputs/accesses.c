/* Plain accesses of all sizes. Labels "@x" are lines that the test names. */
#include <string.h>

char c;
short s;
int i;
long l;
__int128 q;
long double ld;
struct pair {
    int a, b;
} pair;
struct big {
    char text[100];
} x, y;
struct __attribute__((packed)) odd {
    char c;
    int i;
} odd;
typedef int v8 __attribute__((vector_size(32)));
v8 v;

__attribute__((noinline)) void writes(void)
{
    c = 1;     // @c
    s = 2;     // @s
    i = 3;     // @i
    l = 4;     // @l
    q = 5;     // @q
    ld = 6;    // @ld
    odd.i = 7; // @odd
    v[3] = 8;  // @v
}

__attribute__((noinline)) void ranges(void)
{
    x = y;                   // @copy
    memset(&y, 1, sizeof y); // @set
}

__attribute__((noinline)) int update(void)
{
    i++;           // @update
    return pair.a; // @member
}

int main(void)
{
    writes();
    ranges();
    return update() + pair.b; // @main
}
