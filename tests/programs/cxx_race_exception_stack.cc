// The stack is right after an exception has unwound ten frames.
// race: a b
// stack: a after main
// flags: -O0
// flags: -O2
#include <stdexcept>
#include <thread>

int x;

[[gnu::noinline]] static void thrower(int depth)
{
    if (depth == 0)
        throw std::runtime_error("deep");
    thrower(depth - 1);
    asm volatile("");
}

[[gnu::noinline]] static void after()
{
    x = 1; // [a]
    asm volatile("" : : : "memory");
}

int main()
{
    std::thread t([] {
        x = 2; // [b]
    });
    try {
        thrower(10);
    } catch (const std::exception &) {
    }
    after();
    t.join();
}
