// A singleton by double-checked locking with fences, asked for by several threads.
// issue: https://github.com/libMesh/libmesh/pull/3128
// tool: Helgrind
// there: false alarm; the pointer and what it points to, though ThreadSanitizer is silent
// verdict: no race; the fences make the relaxed store and load publish the object
#include <atomic>
#include <mutex>
#include <thread>

struct Singleton {
    int value = 3;
};

static std::atomic<Singleton *> instance;
static std::mutex lock;

static Singleton *get()
{
    Singleton *found = instance.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!found) {
        std::lock_guard<std::mutex> guard(lock);
        found = instance.load(std::memory_order_relaxed);
        if (!found) {
            found = new Singleton;
            std::atomic_thread_fence(std::memory_order_release);
            instance.store(found, std::memory_order_relaxed);
        }
    }
    return found;
}

int main()
{
    int sum[3] = {};
    std::thread a([&] { sum[0] = get()->value; }), b([&] { sum[1] = get()->value; }), c([&] { sum[2] = get()->value; });
    a.join();
    b.join();
    c.join();
    delete instance.load();
    return sum[0] + sum[1] + sum[2] - 9;
}
