// promise and future, async, packaged_task: results come after the work.
// gcc: also
#include <future>
#include <string>
#include <thread>

int side;

int main()
{
    std::promise<std::string> promise;
    auto future = promise.get_future();
    std::thread t([&] {
        side = 1;
        promise.set_value("a string that is longer than the small buffer");
    });
    std::string s = future.get();
    side++;
    auto async = std::async(std::launch::async, [] {
        side++;
        return 4;
    });
    int four = async.get();
    side++;
    std::packaged_task<int()> task([] { return ++side; });
    auto result = task.get_future();
    std::thread u(std::move(task));
    int five = result.get();
    t.join();
    u.join();
    return four + five - 9 + (s.size() != 45);
}
