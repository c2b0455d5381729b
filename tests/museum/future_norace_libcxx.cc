// std::async of libc++.
// issue: https://github.com/google/sanitizers/issues/480
// tool: ThreadSanitizer
// there: false alarm; the shared state is used by the thread after get() has freed it, it says
// verdict: no race; the state is counted, and the last owner frees it
// flags: -stdlib=libc++
#include <future>

int main()
{
    int x = 0;
    auto f = std::async(std::launch::async, [&] { return ++x; });
    int y = f.get();
    return x + y - 2;
}
