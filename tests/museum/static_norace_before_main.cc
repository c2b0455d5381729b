// Global constructors use function-local statics and start a thread before main.
// issue: https://github.com/google/sanitizers/issues/1505
//   https://github.com/google/sanitizers/issues/1506
// tool: ThreadSanitizer
// there: crash; a segmentation fault at __cxa_guard_release, before the tool is ready
// verdict: no race; the thread is joined in the constructor
#include <thread>

static int &counter()
{
    static int &made = *new int(1);
    return made;
}

struct Early {
    Early()
    {
        std::thread t([] { counter()++; });
        t.join();
        counter()++;
    }
};

__attribute__((init_priority(101))) static Early early;

int main()
{
    return counter() - 3;
}
