/* Memory that only this thread uses is what the path left there, on all ways behind a decision
 * recipe: yes other
 * never: no other2
 */
#include "turn.h"
#include <pthread.h>

static volatile int flag, more, data, data2, seen;
static int own[64]; /* of one() alone */

static void *one(void *arg)
{
    own[3] = 1;
    turn(1);
    if (flag == 1) {
        own[3] = 5;
        if (more == 1)
            seen = 1;
        if (own[3] == 5)
            data = 1; /* yes */
        else
            data2 = 1; /* no */
    }
    return arg;
}

static void *two(void *arg)
{
    flag = 1;
    more = 1;
    data = 2;  /* other */
    data2 = 2; /* other2 */
    more = 0;
    flag = 0;
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    flag = more = 0;
    pthread_create(&t[0], 0, one, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
