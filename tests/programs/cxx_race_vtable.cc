// The constructor of the derived class changes the vtable pointer while another thread calls.
// race: a b
// flags: -O0
#include <thread>

struct Base {
    virtual int get() const
    {
        return 1;
    }
    void run()
    {
        t = std::thread([this] {
            volatile int sink = get(); // [a]
            (void)sink;
        });
    }
    Base()
    {
        run();
    }
    virtual ~Base() = default;
    std::thread t;
};

struct Derived : Base {
    Derived() // [b]
    {         // [b]
    } // [b]
    int get() const override
    {
        return 2;
    }
};

int main()
{
    Derived d;
    d.t.join();
}
