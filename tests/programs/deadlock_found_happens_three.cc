// Three threads around three std::mutexes, each waits for the next one's. A fourth waits for the
// first, but is in no ring.
// deadlock: ab bc ca
// exit: 137
// gcc: also
// tsan: hangs
#include "stuck.h"

#include <mutex>
#include <thread>

std::mutex a, b, c;
int has_a, has_b, has_c, late, x;

static void all_there()
{
    await(&has_a);
    await(&has_b);
    await(&has_c);
}

static void first()
{
    std::lock_guard<std::mutex> outer(a);
    tell(&has_a);
    all_there();
    std::lock_guard<std::mutex> inner(b); // [ab]
    x++;
}

static void second()
{
    std::lock_guard<std::mutex> outer(b);
    tell(&has_b);
    all_there();
    std::lock_guard<std::mutex> inner(c); // [bc]
    x++;
}

static void third()
{
    std::lock_guard<std::mutex> outer(c);
    tell(&has_c);
    all_there();
    std::lock_guard<std::mutex> inner(a); // [ca]
    x++;
}

static void fourth()
{
    tell(&late);
    std::lock_guard<std::mutex> guard(a);
    x++;
}

int main()
{
    for (auto f : { first, second, third })
        std::thread(f).detach();
    for (auto m : { &a, &b, &c })
        await_waiters(m->native_handle());
    std::thread(fourth).detach();
    await(&late);
    pause_ms(20);
    raise(SIGKILL);
}
