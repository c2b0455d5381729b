// A thread's exception is kept as std::exception_ptr; another thread reads and drops it.
// issue: https://github.com/ad-freiburg/qlever/pull/3133
// tool: ThreadSanitizer
// there: false alarm; reading the message races with the deletion: the count is in libstdc++
// verdict: no race; each copy is dropped after its use, and the last one deletes
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

int main()
{
    std::exception_ptr caught;
    std::string said;
    std::thread t([&] {
        try {
            throw std::runtime_error("a message that is long enough for the heap");
        } catch (...) {
            caught = std::current_exception();
        }
    });
    t.join();
    std::thread u([&said, caught = std::move(caught)]() mutable {
        try {
            std::rethrow_exception(caught);
        } catch (const std::exception &e) {
            said = e.what();
        }
        caught = nullptr;
    });
    u.join();
    return said.size() < 10;
}
