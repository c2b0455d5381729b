// std::thread with lambdas.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include <thread>

int x;

int main()
{
    std::thread a([] {
        x = 1; // [a]
    });
    std::thread b([] {
        x = 2; // [b]
    });
    a.join();
    b.join();
}
