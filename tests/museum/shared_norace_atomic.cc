// std::atomic<std::shared_ptr> is stored by one thread, loaded by another.
// issue: https://github.com/google/sanitizers/issues/1558
// tool: ThreadSanitizer
// there: false alarm; its lock is a bit of a pointer, and the pointer beside it is plain
// verdict: no race; [util.smartptr.atomic]: the operations are atomic and seq_cst by default
// flags: -std=c++20
#include <atomic>
#include <memory>
#include <thread>

int main()
{
    std::atomic<std::shared_ptr<int>> slot;
    int sum = 0;
    std::thread t([&] {
        for (int i = 1; i <= 5; i++)
            slot.store(std::make_shared<int>(i));
    });
    for (int seen = 0; seen != 5;) {
        if (auto now = slot.load())
            seen = *now;
        sum++;
    }
    t.join();
    return sum == 0;
}
