// A destructor joins a thread that calls virtual functions: it writes the pointer to the
// virtual table that is there already.
// gcc: also
// flags: -O0
// flags: -O1
// flags: -O2
#include <atomic>
#include <memory>
#include <thread>

struct Base {
    virtual ~Base()
    {
    }
    virtual int step()
    {
        return 0;
    }
};

struct Server : Base {
    std::atomic<bool> stop{ false };
    std::atomic<int> steps{ 0 };
    std::thread thread;

    int step() override
    {
        return 1;
    }
    void loop()
    {
        while (!stop)
            steps += step();
    }
    void start()
    {
        thread = std::thread([this] { loop(); });
    }
    ~Server() override
    {
        while (steps < 3)
            std::this_thread::yield();
        stop = true;
        thread.join();
    }
};

int main()
{
    std::unique_ptr<Base> b;
    auto s = std::make_unique<Server>();
    s->start();
    b = std::move(s);
    return b->step() - 1;
}
