// std::atomic_ref in both threads: what a release store publishes an acquire load finds.
// flags: -std=c++20 -O1
// flags: -std=c++20 -O0
#include "prog.h"
#include <atomic>

int data, flag, count;

THREAD(writer)
{
    data = 1;
    std::atomic_ref<int>(count).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref<int>(flag).store(1, std::memory_order_release);
    return nullptr;
}

THREAD(reader)
{
    std::atomic_ref<int>(count).fetch_add(1, std::memory_order_relaxed);
    while (!std::atomic_ref<int>(flag).load(std::memory_order_acquire))
        pause_ms(1);
    USE(data);
    return nullptr;
}

int main()
{
    run_two(writer, reader);
    return 0;
}
