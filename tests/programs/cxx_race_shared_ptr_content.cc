// The counter of a shared_ptr is safe, what it points to is not.
// race: a a
#include <memory>
#include <thread>

int main()
{
    auto value = std::make_shared<int>(0);
    auto work = [value] {
        ++*value; // [a]
    };
    std::thread x(work), y(work);
    x.join();
    y.join();
}
