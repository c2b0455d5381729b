/* tick.c - calls of untraced code within one tick of the clock that stamps are made of
 *
 * The newest stamp is set ahead of the clock, as if another thread had just been given it. What a
 * call is stamped with must be later, and known to be there: else what another thread does right
 * after it may come before it in the trace, and races are reported that it orders.
 */
#include <stdint.h>
#include <stdio.h>

extern struct {
    volatile uint64_t stamp;
} __heddle_newest;

void untraced(int *p); /* tick_untraced.c */

int main(void)
{
    int given = 0, known = 0;

    for (int i = 0; i < 10; i++) {
        uint64_t ahead = __heddle_newest.stamp + (UINT64_C(1) << 36);

        __heddle_newest.stamp = ahead;
        untraced(&given);
        known += __heddle_newest.stamp >= ahead + 2; /* the call, and its return */
    }
    printf("%d %d\n", given, known);
    return 0;
}
