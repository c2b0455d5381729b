// A reference count by __sync built-ins; the object is changed before its last reference goes.
// issue: https://github.com/pocoproject/poco/issues/2207
// tool: ThreadSanitizer
// there: false alarm; deleting the counter against its last decrement
// verdict: no race; __sync operations are full barriers, the decrement to zero is the last use
#include <thread>

struct Counter {
    int count = 2;
};

static void release(Counter *counter)
{
    if (__sync_sub_and_fetch(&counter->count, 1) == 0)
        delete counter;
}

int main()
{
    auto *counter = new Counter;
    std::thread a(release, counter), b(release, counter);
    a.join();
    b.join();
}
