// std::atomic: all memory orders, passed by template, lambdas and defaults.
// flags: -O0
// flags: -O2
// gcc: also
#include <atomic>
#include <thread>

int data[3];
std::atomic<int> flag[3];

int main()
{
    std::thread a([] {
        for (int i = 0; i < 3; i++)
            data[i] = 1;
        flag[0].store(1, std::memory_order_release);
        flag[1].store(1);
        flag[2].fetch_add(1, std::memory_order_acq_rel);
    });
    while (!flag[0].load(std::memory_order_acquire))
        std::this_thread::yield();
    data[0]++;
    while (!flag[1])
        std::this_thread::yield();
    data[1]++;
    int one = 1;
    while (!flag[2].compare_exchange_weak(one, 2, std::memory_order_acq_rel)) {
        one = 1;
        std::this_thread::yield();
    }
    data[2]++;
    int sum = data[0] + data[1] + data[2];
    a.join();
    return sum - 6;
}
