// C++20: waiting on atomics, semaphores, barriers that are left, stop tokens and their callbacks,
// atomic shared pointers, references that are atomic, threads that join by themselves.
// stdout: 2 3 60 7 6 11 60
// flags: -std=c++20
// flags: -std=c++20 -O2
// gcc: also
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

template <typename F> static void threads(int n, F body)
{
    std::vector<std::jthread> all;
    for (int i = 0; i < n; i++)
        all.emplace_back(body, i);
}

static int waits()
{
    std::atomic<int> a{ 0 };
    int x = 0;
    std::jthread t([&] {
        x = 1;
        a.store(1, std::memory_order_release);
        a.notify_one();
    });
    a.wait(0);
    return x + 1;
}

static int flags()
{
    std::atomic_flag f;
    int x = 0;
    std::jthread t([&] {
        x = 2;
        f.test_and_set();
        f.notify_all();
    });
    f.wait(false);
    return x + 1;
}

static int semaphores()
{
    std::binary_semaphore s(1);
    int x = 0;
    threads(3, [&](int) {
        for (int i = 0; i < 20; i++) {
            while (i % 2 ? !s.try_acquire_for(std::chrono::seconds(1)) : (s.acquire(), false))
                ;
            x++;
            s.release();
        }
    });
    return x;
}

static int barriers()
{
    std::barrier b(2);
    int x = 0;
    std::jthread t([&] {
        x = 6;
        b.arrive_and_drop();
    });
    b.arrive_and_wait();
    x++;
    b.arrive_and_wait();
    return x;
}

static int stops()
{
    int called = 0, x = 0;
    std::jthread t([&](std::stop_token stop) {
        {
            std::mutex m;
            std::condition_variable_any c;
            std::unique_lock l(m);
            std::stop_callback callback(stop, [&] { called = 5; });
            c.wait(l, stop, [] { return false; });
        }
        x = called ? called : 5; // its end was waited for, if the wait's own was not first
    });
    t.request_stop();
    t.join();
    return x + 1;
}

/* Nobody loads while others store: load() of libstdc++ 12 unlocks by a relaxed store, so that its
 * read of the pointer does race with the next store's write. */
static size_t pointers()
{
    std::atomic<std::shared_ptr<std::string>> shared = std::make_shared<std::string>("hello");
    threads(3, [&](int i) {
        for (int k = 0; k < 10; k++)
            if (i)
                shared.store(std::make_shared<std::string>("hello"));
    });
    return shared.load()->size() + 6;
}

static long references()
{
    long x = 0;
    threads(3, [&](int) {
        std::atomic_ref<long> r(x);
        for (int k = 0; k < 20; k++)
            r.fetch_add(1, std::memory_order_relaxed);
    });
    return x;
}

int main()
{
    int a = waits(), b = flags(), c = semaphores(), d = barriers(), e = stops();
    size_t f = pointers();
    std::printf("%d %d %d %d %d %zu %ld\n", a, b, c, d, e, f, references());
    return 0;
}
