// libc++ keeps call_once, barrier, the shared and timed mutexes and futures inside the library.
// stdout: 42 9 40 7 1
// flags: -std=c++20 -stdlib=libc++
// tsan: false alarm
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

template <typename F> static void threads(int n, F body)
{
    std::vector<std::thread> all;
    for (int i = 0; i < n; i++)
        all.emplace_back(body, i);
    for (auto &t : all)
        t.join();
}

static int once()
{
    std::once_flag flag;
    int value = 0, attempts = 0;
    threads(4, [&](int) {
        try {
            std::call_once(flag, [&] {
                if (attempts++ == 0)
                    throw 1;
                value = 42;
            });
            if (value != 42)
                std::puts("too early");
        } catch (int) {
        }
    });
    return value;
}

static int rounds()
{
    int part[3] = {}, sum = 0;
    auto done = [&]() noexcept { sum += part[0] + part[1] + part[2]; };
    std::barrier barrier(3, done);
    threads(3, [&](int i) {
        for (int round = 1; round <= 5; round++) {
            part[i] = round % 2;
            barrier.arrive_and_wait();
            if (sum < 3)
                std::puts("too early");
        }
    });
    return sum;
}

static int locks()
{
    std::shared_mutex shared;
    std::timed_mutex timed;
    std::shared_timed_mutex both;
    int a = 0, b = 0, c = 0;
    threads(4, [&](int i) {
        for (int k = 0; k < 5; k++) {
            if (i % 2) {
                std::unique_lock l(shared);
                a++;
            } else {
                std::shared_lock l(shared);
                if (a < 0)
                    std::puts("odd");
            }
            {
                std::lock_guard l(timed);
                b++;
            }
            std::unique_lock l(both);
            c++;
        }
    });
    return a + (b + c) - 10;
}

static int waits()
{
    std::shared_mutex mutex;
    std::condition_variable_any cond;
    bool go = false;
    int x = 0;
    std::thread t([&] {
        std::shared_lock l(mutex);
        cond.wait(l, [&] { return go; });
        x += 6;
    });
    {
        std::unique_lock l(mutex);
        go = true;
        x = 1;
    }
    cond.notify_all();
    t.join();
    return x;
}

static int futures()
{
    std::promise<std::unique_ptr<int>> promise;
    auto future = promise.get_future();
    std::thread t([&] { promise.set_value(std::make_unique<int>(1)); });
    int value = *future.get();
    t.join();
    return value;
}

int main()
{
    int a = once(), b = rounds(), c = locks(), d = waits(), e = futures();
    std::printf("%d %d %d %d %d\n", a, b, c, d, e);
    return 0;
}
