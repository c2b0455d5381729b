/* Pointers that copies bring: struct assignment, memcpy, memmove, realloc; into private memory they
 * publish nothing. */
#include "touch.h"
struct box {
    long pad[9];
    int *p;
    long more[9];
};
static struct box shared, shared_too;
static void *volatile keep;
static struct box *shared_block;
static volatile size_t bytes = sizeof(struct box);
TOUCH(touch_assigned)
TOUCH(touch_memcpy)
TOUCH(touch_memmove)
TOUCH(touch_private_copy)
TOUCH(touch_grown)
TOUCH(touch_grown_content)
TOUCH(touch_grown_shared)
TOUCH(touch_published_copy)
static int *fresh(void)
{
    return calloc(16, sizeof(int));
}
static NOINLINE void assign(struct box *to, const struct box *from)
{
    *to = *from;
}
static void *worker(void *arg)
{
    int *a = fresh(), *b = fresh(), *c = fresh(), *d = fresh(), *e = fresh(), *g = fresh();
    struct box *box = calloc(1, sizeof *box), *copy = calloc(1, sizeof *copy), *last;
    int **grown = calloc(4, sizeof *grown), *volatile * known;
    box->p = a;
    assign(&shared, box);
    touch_assigned(a); /* ESCAPED touch_assigned */
    box->p = b;
    memcpy(&shared_too, box, bytes);
    touch_memcpy(b); /* ESCAPED touch_memcpy */
    box->p = c;
    shared_block = malloc(sizeof *shared_block);
    memmove(shared_block, box, bytes);
    touch_memmove(c); /* ESCAPED touch_memmove */
    box->p = d;
    memcpy(copy, box, bytes);
    touch_private_copy(d); /* PRIVATE touch_private_copy */
    last = copy;
    keep = last;
    touch_published_copy(d); /* ESCAPED touch_published_copy */
    grown[0] = e;
    grown = realloc(grown, 1 << 16);
    touch_grown((int *)&grown[1]); /* PRIVATE touch_grown */
    touch_grown_content(e);        /* PRIVATE touch_grown_content */
    known = calloc(4, sizeof *known);
    keep = (void *)known;
    known = realloc((void *)known, 1 << 16);
    known[0] = g;
    touch_grown_shared(g); /* ESCAPED touch_grown_shared */
    free((void *)known);
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
