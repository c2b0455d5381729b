// std::thread of libc++ with arguments that are copied.
// issue: https://github.com/google/sanitizers/issues/455
// tool: ThreadSanitizer
// there: false alarm; in programs with C++11 threads and a library that is not instrumented
// verdict: no race; the constructor's completion synchronizes with the start of the thread
// flags: -stdlib=libc++
#include <string>
#include <thread>
#include <vector>

int main()
{
    std::vector<int> numbers(10, 1);
    int sum = 0;
    std::thread t(
        [&sum](std::vector<int> copy, std::string text) {
            for (int n : copy)
                sum += n + (int)text.size();
        },
        numbers, "text");
    t.join();
    return sum - 50;
}
