/* replay.c - single-threaded work of many kinds: each read in the trace must see the last write
 *
 * Sorting, lists, hashing, matrices, strings by hand, struct copies, recursion, a state machine,
 * function pointers, bit-fields, alloca, variable arrays, unions, unaligned data, vectors.
 */
#include "say.h"

#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next, *left, *right;
    int key;
    unsigned short small : 5, middle : 9;
    unsigned char name[7];
    double weight;
};
static struct node *list, *tree;
static unsigned table[257];
static double matrix[3][12][12];
int numbers[300];
typedef int vector __attribute__((vector_size(16)));
vector vectors[8];
struct __attribute__((packed)) odd {
    char c;
    long l;
    short s;
    double d;
} odds[9];
long double longs[4];
__int128 wide[4];

static __attribute__((noinline)) void sort(int *a, int n)
{
    int pivot = a[n / 2], i = 0, j = n - 1;

    if (n < 2)
        return;
    for (;; i++, j--) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i >= j)
            break;
        int t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
    sort(a, i);
    sort(a + i, n - i);
}

static __attribute__((noinline)) struct node *insert(struct node *at, struct node *n)
{
    if (!at)
        return n;
    if (n->key < at->key)
        at->left = insert(at->left, n);
    else
        at->right = insert(at->right, n);
    return at;
}

static __attribute__((noinline)) long sum(const struct node *n)
{
    return n ? n->key + n->middle + sum(n->left) + sum(n->right) : 0;
}

static void nodes(void)
{
    for (int i = 0; i < 100; i++) {
        struct node *n = malloc(sizeof(*n));
        *n = (struct node){
            .next = list, .key = i * 7919 % 101, .small = i & 31u, .weight = i / 3.0
        };
        n->middle = (unsigned)i * 5 & 511u;
        for (int k = 0; k < 7; k++)
            n->name[k] = (unsigned char)(n->key >> k);
        list = n;
        tree = insert(tree, n);
    }
    for (struct node *n = list; n; n = n->next)
        n->small ^= n->middle;
}

static __attribute__((noinline)) struct node by_value(struct node n, int k)
{
    struct node copy = n, *p = &copy;

    p->key += k;
    return k ? by_value(copy, k - 1) : copy;
}

static void hash(const char *s)
{
    unsigned h = 5381;

    while (*s)
        h = h * 33 + (unsigned char)*s++;
    table[h % 257]++;
    table[table[h % 257] % 257] += h;
}

static void multiply(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            matrix[2][i][j] = 0;
            for (int k = 0; k < n; k++)
                matrix[2][i][j] += matrix[0][i][k] * matrix[1][k][j];
        }
}

enum state { START, WORD, NUMBER, BLANK, DONE, LAST, MORE, STILL };
static __attribute__((noinline)) int machine(const char *text, int *counts)
{
    enum state s = START;

    for (; s != DONE; text++) {
        counts[s]++;
        switch (*text) {
        case 0:
            s = DONE;
            break;
        case ' ':
            s = BLANK;
            break;
        case '0':
        case '1':
        case '2':
        case '7':
            s = NUMBER;
            break;
        case 'x':
            s = LAST;
            break;
        case 'y':
            s = MORE;
            break;
        case 'z':
            s = STILL;
            break;
        default:
            s = WORD;
        }
    }
    return counts[WORD] + counts[NUMBER];
}

static void oddities(int n)
{
    int *variable = alloca((size_t)n * sizeof(int)), sizes[n];
    union {
        float f;
        uint32_t u;
        uint8_t b[4];
    } u;

    for (int i = 0; i < n; i++) {
        variable[i] = i;
        sizes[i] = variable[i] * 2;
        odds[i % 9] = (struct odd){ 'a', i, (short)i, i * 0.5 };
        odds[i % 9].l += odds[(i + 1) % 9].l;
        vectors[i % 8] = (vector){ i, i + 1, i + 2, i + 3 } + vectors[(i + 1) % 8];
        longs[i % 4] += (long double)i;
        wide[i % 4] = wide[(i + 1) % 4] * 3 + i;
    }
    u.f = (float)n;
    u.b[3] ^= 0x80;
    table[0] += u.u + (unsigned)sizes[n - 1];
}

static void add_one(void *p)
{
    ++*(int *)p;
}

int main(int argc, char **argv)
{
    static int counts[8];
    char text[64];

    (void)argv;
    for (int i = 0; i < 300; i++)
        numbers[i] = i * 7919 % 1009 - 500 * argc;
    sort(numbers, 300);
    nodes();
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++)
            matrix[0][i][j] = i + j, matrix[1][i][j] = i * j;
    multiply(12);
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "key %d", i);
        hash(text);
        text[3] = 'x';
        hash(text);
    }
    for (int i = 0; i < 20; i++)
        untraced_call(add_one, &numbers[i]);
    oddities(40);
    say("machine", (unsigned)machine("ab 12 xyz 7 word 0 z", counts));
    say("tree", (unsigned long long)sum(tree));
    say("value", (unsigned)by_value(*list, 5).key);
    return 0;
}
