/* Pointers that functions of the C library store: into shared memory they publish, else not. */
#include "touch.h"
#include <pwd.h>
static char *end, *rest;
static struct passwd user;
TOUCH(touch_end)
TOUCH(touch_no_end)
TOUCH(touch_own_end)
TOUCH(touch_rest)
TOUCH(touch_sorted)
TOUCH(touch_user)
static char *text(void)
{
    char *p = calloc(1, 4096);
    strcpy(p, "12 34 56");
    return p;
}
static int compare(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}
static NOINLINE long number(char *p, char **at)
{
    return strtol(p, at, 10);
}
static void *worker(void *arg)
{
    char *a = text(), *b = text(), *c = text(), *d = text(), *e = text(), *f = text();
    char **own = calloc(2, sizeof *own);
    struct passwd *found;
    number(a, &end);
    touch_end((int *)a); /* ESCAPED touch_end */
    number(b, NULL);
    touch_no_end((int *)b); /* PRIVATE touch_no_end */
    number(c, own);
    touch_own_end((int *)c); /* PRIVATE touch_own_end */
    strtok_r(d, " ", &rest);
    touch_rest((int *)d); /* ESCAPED touch_rest */
    qsort(e, 8, 1, compare);
    touch_sorted((int *)e); /* PRIVATE touch_sorted */
    getpwnam_r("root", &user, f, 4096, &found);
    touch_user((int *)f); /* ESCAPED touch_user */
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
