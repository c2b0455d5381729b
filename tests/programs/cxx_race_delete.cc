// A virtual call against the delete of its object.
// race: a|c b|d|c
// may: a|b|c|d a|b|c|d
#include <chrono>
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

int main()
{
    std::thread t([] {
        volatile int sink = object->get(); // [a]
        (void)sink;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    delete object; // [b]
    t.join();
}
