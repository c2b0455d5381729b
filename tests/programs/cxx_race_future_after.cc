// Work done after set_value is not ordered before get.
// race: a b
#include <future>
#include <thread>

int side;

int main()
{
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread t([&] {
        promise.set_value(1);
        side = 1; // [a]
    });
    int one = future.get();
    side = 2; // [b]
    t.join();
    return one - 1;
}
