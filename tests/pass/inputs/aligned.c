/* Narrow members: which bytes of a word they touch is known, except in a packed structure. Loops
 * that make no calls and go where nobody can tell before, because there the question is inline. */
#define LEAP(k) ((k) * 5 % 1021)
struct mixed {
    void *p;
    int a, b;
    short c, d;
    char e;
};
struct __attribute__((packed, aligned(4))) packed {
    void *p;
    int a, b;
};
struct nested {
    int x;
    struct mixed in[4];
    int y;
};
int int_at_12(struct mixed *s)
{
    int sum = 0;
    for (unsigned k = 1; k; k = LEAP(k))
        sum += s[k].b;
    return sum;
}
void short_at_18(struct mixed *s)
{
    for (unsigned k = 1; k; k = LEAP(k))
        s[k].d = 1;
}
int char_at_20(struct mixed *s)
{
    int sum = 0;
    for (unsigned k = 1; k; k = LEAP(k))
        sum += s[k].e;
    return sum;
}
int in_array(struct nested *n, int i)
{
    int sum = 0;
    for (unsigned k = 1; k; k = LEAP(k))
        sum += n[k].in[i].b;
    return sum;
}
long packed(struct packed *s)
{
    long sum = 0;
    for (unsigned k = 1; k; k = LEAP(k))
        sum += (long)s[k].p + s[k].b;
    return sum;
}
int element(int *p)
{
    int sum = 0;
    for (unsigned k = 1; k; k = LEAP(k))
        sum += p[k];
    return sum;
}
