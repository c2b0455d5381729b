/* Large objects, most of whose pages were never touched when they are published; and pointers that
 * are moved within an object, which is no publication of its own. */
#include "touch.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 3 << 20, WORDS = BYTES / sizeof(void *) };
struct ring {
    int *first, *second, *cursor;
    int cells[8];
};
static void *root, *shared;
static struct ring *ring_root;
TOUCH(touch_first)
TOUCH(touch_last)
TOUCH(touch_middle)
TOUCH(touch_before)
TOUCH(touch_file)
TOUCH(touch_nowhere)
TOUCH(touch_moved)
TOUCH(touch_kept)
TOUCH(touch_cursor)
/* Memory of a file, whose pages are not mapped although they hold something. */
static void **in_file(void)
{
    FILE *f = tmpfile();
    void **p = f && !ftruncate(fileno(f), BYTES)
                   ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0)
                   : NULL;
    return p && p != MAP_FAILED ? p : calloc(WORDS, sizeof(void *));
}
static void in_large_objects(void)
{
    int *first = calloc(1, 64), *last = calloc(1, 64), *middle = calloc(1, 64),
        *nowhere = calloc(1, 64), *file = calloc(1, 64);
    void **big = malloc(BYTES), **mapped = in_file();
    big[0] = first;
    big[WORDS - 1] = last;
    big[WORDS / 2 + 1] = middle;
    touch_before(middle); /* PRIVATE touch_before */
    root = big;
    touch_first(first);   /* ESCAPED touch_first */
    touch_last(last);     /* ESCAPED touch_last */
    touch_middle(middle); /* ESCAPED touch_middle */
    mapped[WORDS / 3] = file;
    shared = mapped;
    touch_file(file);       /* ESCAPED touch_file */
    touch_nowhere(nowhere); /* PRIVATE touch_nowhere */
}
static NOINLINE void turn(struct ring *r)
{
    int *p = r->first;
    r->first = r->second;
    r->second = p;
    r->cursor = &r->cells[1];
}
static void in_one_object(void)
{
    struct ring *r = calloc(1, sizeof *r), *kept = calloc(1, sizeof *kept);
    int *moved = calloc(1, 64), *own = calloc(1, 64);
    r->first = moved;
    kept->first = own;
    turn(r);
    turn(kept);
    touch_kept(kept->second); /* PRIVATE touch_kept */
    ring_root = r;
    touch_moved(moved);      /* ESCAPED touch_moved */
    touch_cursor(r->cursor); /* ESCAPED touch_cursor */
}
static void *worker(void *arg)
{
    in_large_objects();
    in_one_object();
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
