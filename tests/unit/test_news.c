/* test_news.c - an acquire that is called no news adds nothing to what the thread knows
 *
 * Against vector clocks: random operations of a few threads on a few atomics, which share
 * stripes, and locks. The clocks are those of order/atomics.c, written down once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/news.h"

struct stripe rt_stripes[RING_STRIPES];
struct handover rt_handovers[HANDOVERS];

enum { THREADS = 5, ATOMICS = 7, STRIPES = 3, LOCKS = 2, RUNS = 3000, STEPS = 300 };

typedef uint32_t clock_of[THREADS];

static struct model {
    clock_of now[THREADS], fence[THREADS], pending[THREADS];
    clock_of head[ATOMICS][THREADS]; /* of release sequences; 0 where there is none */
    clock_of lock[LOCKS];
} m;
static struct rt_thread threads[THREADS];
static uint64_t state = 88172645463325252ull, acquires, repeats;

static unsigned rnd(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % n;
}

static void join(clock_of to, const clock_of from)
{
    for (int i = 0; i < THREADS; i++)
        if (from[i] > to[i])
            to[i] = from[i];
}

static bool knows(const clock_of a, const clock_of b)
{
    for (int i = 0; i < THREADS; i++)
        if (b[i] > a[i])
            return false;
    return true;
}

static void *address_of(unsigned atomic)
{
    return (void *)(0x600000000000 + 8 * (uintptr_t)atomic);
}

static struct stripe *stripe_of(unsigned atomic)
{
    return &rt_stripes[atomic % STRIPES];
}

static void read_atomic(unsigned t, unsigned atomic, unsigned order)
{
    bool news = news_acquired(&threads[t], stripe_of(atomic), address_of(atomic), order);
    clock_of sum = { 0 };

    for (int i = 0; i < THREADS; i++)
        join(sum, m.head[atomic][i]);
    if (!order_acquires(order)) {
        assert_false(news);
        join(m.pending[t], sum);
        return;
    }
    if (!news)
        assert_true(knows(m.now[t], sum));
    acquires++;
    repeats += !news;
    join(m.now[t], sum);
}

static void write_atomic(unsigned t, unsigned atomic, unsigned order, bool is_rmw)
{
    news_written(&threads[t], stripe_of(atomic), address_of(atomic), order, is_rmw);
    for (unsigned i = 0; !is_rmw && i < THREADS; i++)
        if (i != t)
            memset(m.head[atomic][i], 0, sizeof(clock_of));
    if (order_releases(order))
        join(m.head[atomic][t], m.now[t]);
    else
        join(m.head[atomic][t], m.fence[t]);
}

static void fence(unsigned t)
{
    join(m.now[t], m.pending[t]);
    memcpy(m.fence[t], m.now[t], sizeof(clock_of));
    threads[t].fenced = true;
}

static void step(unsigned t)
{
    static const uint8_t reads[] = { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_ACQUIRE, ORDER_SEQ_CST };
    static const uint8_t writes[] = { ORDER_RELAXED, ORDER_RELEASE, ORDER_SEQ_CST };
    static const uint8_t both[] = { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL };
    unsigned atomic = rnd(ATOMICS), lock = rnd(LOCKS), what = rnd(40), order;

    m.now[t][t]++;
    if (what < 20) {
        read_atomic(t, atomic, reads[rnd(4)]);
    } else if (what < 26) {
        write_atomic(t, atomic, writes[rnd(3)], false);
    } else if (what < 30) {
        order = both[rnd(4)];
        read_atomic(t, atomic, order);
        write_atomic(t, atomic, order, true);
    } else if (what == 30 && rnd(5) == 0) {
        fence(t);
    } else if (what < 36) {
        news_take_over(&threads[t], 0x700000000000 + lock);
        join(m.now[t], m.lock[lock]);
    } else {
        news_hand_over(&threads[t], 0x700000000000 + lock);
        memcpy(m.lock[lock], m.now[t], sizeof(clock_of));
    }
}

static void what_is_no_news_is_known(void **unused)
{
    (void)unused;
    for (int run = 0; run < RUNS; run++) {
        memset(&m, 0, sizeof(m));
        memset(threads, 0, sizeof(threads));
        memset(rt_stripes, 0, STRIPES * sizeof(struct stripe));
        memset(rt_handovers, 0, sizeof(rt_handovers));
        for (unsigned t = 0; t < THREADS; t++)
            threads[t].number = t * (run % 2 ? 1 : NEWS_KNOWN); /* or all share an entry */
        for (int i = 0; i < STEPS; i++)
            step(rnd(THREADS));
    }
    print_message("# %lu acquires, %lu without news\n", (unsigned long)acquires,
                  (unsigned long)repeats);
    assert_true(repeats > acquires / 20); /* else the test shows nothing */
}

static void a_list_is_followed_without_news(void **unused)
{
    struct rt_thread *writer = &threads[0], *reader = &threads[1];
    unsigned i;

    (void)unused;
    memset(threads, 0, sizeof(threads));
    memset(rt_stripes, 0, sizeof(rt_stripes));
    reader->number = 1;
    for (i = 0; i < 100; i++)
        news_written(writer, &rt_stripes[i], address_of(i), ORDER_RELEASE, false);
    assert_true(news_acquired(reader, &rt_stripes[99], address_of(99), ORDER_ACQUIRE));
    for (i = 0; i < 100; i++)
        assert_false(news_acquired(reader, &rt_stripes[i], address_of(i), ORDER_ACQUIRE));
    news_written(writer, &rt_stripes[7], address_of(7), ORDER_RELEASE, false);
    assert_true(news_acquired(reader, &rt_stripes[7], address_of(7), ORDER_ACQUIRE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_news_is_known),
        cmocka_unit_test(a_list_is_followed_without_news),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
