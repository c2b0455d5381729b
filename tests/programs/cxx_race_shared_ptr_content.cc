// The counter of a shared_ptr is safe, what it points to is not.
// (Both threads get copies made before either starts: a copy made after one has ended knows of it.)
// race: a a
#include <memory>
#include <thread>
#include <utility>

int main()
{
    auto value = std::make_shared<int>(0);
    auto work = [value] {
        ++*value; // [a]
    };
    auto again = work;
    std::thread x(std::move(work)), y(std::move(again));
    x.join();
    y.join();
}
