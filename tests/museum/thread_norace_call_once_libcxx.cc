// std::call_once of libc++ from two threads.
// issue: https://github.com/google/sanitizers/issues/953
// tool: ThreadSanitizer
// there: false alarm; reports inside of synchronisation code that was not built for the tool
// verdict: no race; the first call's end synchronizes with the return of the others
// flags: -stdlib=libc++
#include <mutex>
#include <thread>

std::once_flag once;
int value;

int main()
{
    int seen[2];
    auto use = [&](int me) {
        std::call_once(once, [] { value = 4; });
        seen[me] = value;
    };
    std::thread a(use, 0), b(use, 1);
    a.join();
    b.join();
    return seen[0] + seen[1] - 8;
}
