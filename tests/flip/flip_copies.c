/* What copies and fills of many bytes leave is known byte by byte, padding apart
 * recipe: open other
 * recipe: behind other2
 * recipe: zero other3
 * never: shut other4
 * never: filled other4
 */
#include "turn.h"
#include <pthread.h>
#include <string.h>

struct session {
    int id;
    char kind; /* padding behind it */
    long started;
    int closed, spare[5];
};

static struct session session, copy;
static int table[16];
static volatile int flag, data, data2, data3, data4;

static void *closer(void *arg)
{
    turn(1);
    if (flag == 1) {
        if (session.closed == 0 && session.kind == 'x')
            data = 1; /* open */
        if (session.closed == 7)
            data4 = 1; /* shut */
        if (table[3] == 0)
            data3 = 1; /* zero */
        if (table[4] == 9)
            data4 = 3; /* filled */
        copy = session;
        data2 = 1; /* behind */
    }
    return arg;
}

static void *setter(void *arg)
{
    flag = 1;
    data = 2;  /* other */
    data2 = 2; /* other2 */
    data3 = 2; /* other3 */
    data4 = 2; /* other4 */
    flag = 0;
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[2];
    struct session first = { .id = 1, .kind = 'x', .started = 5 };

    session = first;
    copy = first;
    memset(table, 0, sizeof table);
    flag = 0;
    pthread_create(&t[0], 0, closer, 0);
    pthread_create(&t[1], 0, setter, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return copy.id + table[0] - 1;
}
