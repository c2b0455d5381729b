// Elements of a vector<bool> are not separate: bits of one word.
// race: a b
#include <thread>
#include <vector>

std::vector<bool> v(16);

int main()
{
    std::thread a([] {
        v[0] = true; // [a]
    });
    std::thread b([] {
        v[1] = true; // [b]
    });
    a.join();
    b.join();
}
