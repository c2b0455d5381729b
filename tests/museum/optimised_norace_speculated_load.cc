// Relaxed atomics of which one of two is loaded, by a condition that is constant in practice.
// issue: https://github.com/google/sanitizers/issues/1398
// tool: ThreadSanitizer
// there: false alarm; an optimisation turned atomic loads into plain ones before the tool's pass
// verdict: no race; all accesses of the numbers are atomic
// flags: -O2
#include <atomic>
#include <deque>
#include <memory>
#include <thread>

struct Versions {
    std::atomic<unsigned> last{ 0 }, published{ 0 };
};

struct Snapshots {
    const Versions *versions;
    std::deque<unsigned> held;
    bool cond = true;

    unsigned oldest() const
    {
        if (!held.empty())
            return held.front();
        return cond ? versions->last.load(std::memory_order_relaxed) : versions->published.load(std::memory_order_relaxed);
    }
};

int main()
{
    auto versions = std::make_unique<Versions>();
    std::thread a([&] {
        for (unsigned i = 0; i < 1000; i++)
            versions->last.store(i, std::memory_order_relaxed);
    });
    std::thread b([&] {
        Snapshots snapshots{ versions.get(), {} };
        for (int i = 0; i < 1000; i++)
            if (snapshots.oldest() > 1000)
                std::terminate();
    });
    a.join();
    b.join();
}
