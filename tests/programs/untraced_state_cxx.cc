// untraced_state_cxx.cc - a C++ library that is not traced and keeps its state to itself
#include "untraced_state.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace
{

std::mutex lock;
std::mutex guard;
std::condition_variable changed;
bool is_set;

struct channel {
    virtual ~channel() = default;
    virtual void notify() = 0;
    virtual void await() = 0;
};

struct spinning : channel {
    std::atomic<bool> set{ false };
    void notify() override { set.store(true, std::memory_order_release); }
    void await() override
    {
        while (!set.load(std::memory_order_acquire))
            std::this_thread::yield();
    }
};

channel &find(int number)
{
    static std::map<int, std::unique_ptr<channel>> channels;
    std::lock_guard<std::mutex> hold(guard);
    auto &c = channels[number];
    if (!c)
        c = std::make_unique<spinning>();
    return *c;
}

} // namespace

void state_cxx_lock()
{
    lock.lock();
}

void state_cxx_unlock()
{
    lock.unlock();
}

void state_cxx_set()
{
    std::lock_guard<std::mutex> hold(guard);
    is_set = true;
    changed.notify_all();
}

void state_cxx_wait()
{
    std::unique_lock<std::mutex> hold(guard);
    changed.wait(hold, [] { return is_set; });
}

void state_cxx_notify(int channel)
{
    find(channel).notify();
}

void state_cxx_await(int channel)
{
    find(channel).await();
}
