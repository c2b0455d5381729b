// A virtual call against the delete of its object.
// race: a|c b|d|c
// may: a|b|c|d a|b|c|d
#include <atomic>
#include <thread>

struct Base {
    virtual int get() const // [c]
    {
        return value; // [c]
    }
    virtual ~Base() // [d]
    {               // [d]
    } // [d]
    int value = 1;
};

Base *object = new Base;
std::atomic<bool> done;

int main()
{
    std::thread t([] {
        volatile int sink = object->get(); // [a]
        (void)sink;
        done.store(true, std::memory_order_relaxed);
    });
    while (!done.load(std::memory_order_relaxed))
        std::this_thread::yield();
    delete object; // [b]
    t.join();
}
