#include <cassert>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

// a queue whose consumer looks whether it is empty under another lock than it takes from it
static std::mutex m;
static std::condition_variable c;
static std::queue<int> q;

static void consume()
{
    {
        std::unique_lock<std::mutex> l(m);
        c.wait(l, [] { return !q.empty(); });
    }
    std::lock_guard<std::mutex> l(m);
    assert(!q.empty());
    q.pop();
}

static void produce(int v)
{
    std::lock_guard<std::mutex> l(m);
    q.push(v);
    c.notify_all();
}

int main()
{
    std::thread a(consume), b(consume);
    produce(1);
    produce(2);
    a.join();
    b.join();
    return 0;
}
