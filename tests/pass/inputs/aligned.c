/* Narrow members: which bytes of a word they touch is known, except in a packed structure. */
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
    return s->b;
}
void short_at_18(struct mixed *s)
{
    s->d = 1;
}
int char_at_20(struct mixed *s)
{
    return s->e;
}
int in_array(struct nested *n, int i)
{
    return n->in[i].b;
}
long packed(struct packed *k)
{
    return (long)k->p + k->b;
}
int element(int *p, int i)
{
    return p[i];
}
