/* Narrow members: which bytes of a word they touch is known, except in a packed structure. Loops,
 * because there the question is inline. */
int more(void);
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
    while (more())
        sum += s->b;
    return sum;
}
void short_at_18(struct mixed *s)
{
    while (more())
        s->d = 1;
}
int char_at_20(struct mixed *s)
{
    int sum = 0;
    while (more())
        sum += s->e;
    return sum;
}
int in_array(struct nested *n, int i)
{
    int sum = 0;
    while (more())
        sum += n->in[i].b;
    return sum;
}
long packed(struct packed *k)
{
    long sum = 0;
    while (more())
        sum += (long)k->p + k->b;
    return sum;
}
int element(int *p, int i)
{
    int sum = 0;
    while (more())
        sum += p[i];
    return sum;
}
