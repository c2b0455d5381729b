// std::atomic::wait with a relaxed order: being notified orders nothing.
// flags: -std=c++20 -O1
// race: a b
#include "prog.h"
#include <atomic>

int data;
static std::atomic<int> state;

THREAD(writer)
{
    pause_ms(10);
    data = 1; // [a]
    state.store(1, std::memory_order_relaxed);
    state.notify_one();
    return nullptr;
}

THREAD(reader)
{
    state.wait(0, std::memory_order_relaxed);
    USE(data); // [b]
    return nullptr;
}

int main()
{
    run_two(writer, reader);
    return 0;
}
