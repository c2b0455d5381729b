// Atomics of floating point and class type, atomic_ref, atomic_flag.
// flags: -std=c++20 -O0 -latomic
// flags: -std=c++20 -O2 -latomic
#include <atomic>
#include <thread>

struct Pair {
    int a, b;
};
std::atomic<double> sum;
std::atomic<Pair> pair;
std::atomic_flag flag;
int counter, x;

static void work()
{
    for (int i = 0; i < 20; i++) {
        sum.fetch_add(0.5);
        Pair old = pair.load(), next;
        do
            next = { old.a + 1, old.b + 2 };
        while (!pair.compare_exchange_weak(old, next));
        std::atomic_ref<int>(counter).fetch_add(1);
        while (flag.test_and_set(std::memory_order_acquire))
            std::this_thread::yield();
        x++;
        flag.clear(std::memory_order_release);
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    return sum == 20 && pair.load().b == 80 && counter == 40 && x == 40 ? 0 : 1;
}
