// Elements of a vector are separate objects, also of vector<char>.
// flags: -O0
// flags: -O3
// gcc: also
#include <thread>
#include <vector>

std::vector<char> v(16);

int main()
{
    std::thread a([] {
        for (size_t i = 0; i < 16; i += 2)
            v[i] = 1;
    });
    std::thread b([] {
        for (size_t i = 1; i < 16; i += 2)
            v[i] = 2;
    });
    a.join();
    b.join();
    return v[14] + v[15] - 3;
}
