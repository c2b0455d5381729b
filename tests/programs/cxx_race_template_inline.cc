// Inlined templates: the innermost line is reported, the frames around it stay.
// race: a b
// stack: a store<int> fill
// flags: -O0
// flags: -O2
#include <thread>

template <typename T> inline void store(T *p, T value)
{
    *p = value; // [a]
}

int x;

[[gnu::noinline]] static void fill()
{
    store(&x, 1);
    asm volatile("" : : : "memory");
}

int main()
{
    std::thread t(fill);
    x = 2; // [b]
    t.join();
}
