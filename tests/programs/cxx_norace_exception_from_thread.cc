// An exception carried to the joining thread by exception_ptr, and one through a future.
// gcc: also
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

int main()
{
    std::exception_ptr error;
    std::thread t([&] {
        try {
            throw std::runtime_error("a message longer than the small string buffer");
        } catch (...) {
            error = std::current_exception();
        }
    });
    t.join();
    int caught = 0;
    try {
        std::rethrow_exception(error);
    } catch (const std::runtime_error &e) {
        caught += std::string(e.what()).size() == 45;
    }
    auto future = std::async(std::launch::async, []() -> int { throw std::logic_error("no"); });
    try {
        future.get();
    } catch (const std::logic_error &) {
        caught++;
    }
    return caught - 2;
}
