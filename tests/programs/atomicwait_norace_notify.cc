// std::atomic::wait and notify: the load that ends the wait orders.
// flags: -std=c++20 -O1
// flags: -std=c++20 -O0
#include "prog.h"
#include <atomic>

int data, answer;
static std::atomic<int> state;

THREAD(writer)
{
    pause_ms(10);
    data = 1;
    state.store(1, std::memory_order_release);
    state.notify_one();
    state.wait(1, std::memory_order_acquire);
    USE(answer);
    return nullptr;
}

THREAD(reader)
{
    state.wait(0, std::memory_order_acquire);
    USE(data);
    answer = 2;
    state.store(2, std::memory_order_release);
    state.notify_all();
    return nullptr;
}

int main()
{
    run_two(writer, reader);
    return 0;
}
