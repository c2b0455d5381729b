// C++20: latch, barrier, counting_semaphore and atomic wait, which use futexes directly.
// flags: -std=c++20
// gcc: also
#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <thread>

int a, b, c, d[2];
std::latch latch(1);
std::binary_semaphore semaphore(0);
std::atomic<int> flag;
std::barrier<> barrier(2);

int main()
{
    std::thread t([] {
        a = 1;
        latch.count_down();
        b = 1;
        semaphore.release();
        c = 1;
        flag.store(1, std::memory_order_release);
        flag.notify_one();
        for (int i = 0; i < 5; i++) {
            d[i % 2]++;
            barrier.arrive_and_wait();
        }
    });
    latch.wait();
    a++;
    semaphore.acquire();
    b++;
    flag.wait(0, std::memory_order_acquire);
    c++;
    for (int i = 0; i < 5; i++) {
        d[(i + 1) % 2]++;
        barrier.arrive_and_wait();
    }
    int sum = a + b + c + d[0] + d[1];
    t.join();
    return sum - 16;
}
