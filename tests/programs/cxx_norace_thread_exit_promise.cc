// Promises that are kept when their thread ends: libstdc++ makes them ready inside the library, and
// frees what nobody needs any more there.
// stdout: 182
// flags: -O0
// flags: -O2
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

static int payload;

static void promise()
{
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&p] {
        payload++;
        p.set_value_at_thread_exit(5);
    });
    payload += f.get();
    t.join();
}

static void task()
{
    std::packaged_task<int()> k([] {
        payload++;
        return 2;
    });
    auto f = k.get_future();
    std::thread t([&k] { k.make_ready_at_thread_exit(); });
    payload += f.get();
    t.join();
}

static void notify()
{
    std::mutex m;
    std::condition_variable c;
    bool ok = false;
    std::thread t([&] {
        std::unique_lock<std::mutex> l(m);
        payload++;
        ok = true;
        std::notify_all_at_thread_exit(c, std::move(l));
    });
    {
        std::unique_lock<std::mutex> l(m);
        c.wait(l, [&] { return ok; });
    }
    payload++;
    t.join();
}

/* Nobody waits: the thread lets go of the state last. */
static void forgotten()
{
    std::promise<int> *p = new std::promise<int>;
    std::thread t([p] { p->set_value_at_thread_exit(1); });
    t.join();
    delete p;
    std::thread([] {
        std::promise<int> own;
        own.set_value_at_thread_exit(1);
    }).join();
}

int main()
{
    for (int i = 0; i < 20; i++) {
        promise();
        task();
    }
    notify();
    forgotten();
    std::printf("%d\n", payload);
    return 0;
}
