// C++20: what comes after the count-down is not ordered.
// race: a b
// flags: -std=c++20
#include <latch>
#include <thread>

std::latch latch(1);
int x;

int main()
{
    std::thread t([] {
        latch.count_down();
        x = 1; // [a]
    });
    latch.wait();
    x = 2; // [b]
    t.join();
}
