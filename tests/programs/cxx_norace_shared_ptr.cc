// The last owner of a shared_ptr deletes the object: its counter orders.
// flags: -O0
// flags: -O2
// gcc: also
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct Object {
    int values[4] = { 1, 2, 3, 4 };
    ~Object()
    {
        values[0] = 0;
    }
};

int main()
{
    for (int round = 0; round < 10; round++) {
        auto object = std::make_shared<Object>();
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++)
            threads.emplace_back([object] {
                if (object->values[2] != 3)
                    std::abort();
            });
        object.reset();
        for (auto &t : threads)
            t.join();
    }
}
