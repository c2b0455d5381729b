// A thread with an empty function.
// issue: https://github.com/google/sanitizers/issues/476
// tool: ThreadSanitizer
// there: false alarm; with -g, a race of the thread's end with its creation
// verdict: no race; what the library does with its own data is ordered by atomics
// flags: -std=c++11
#include <thread>

static void my_thread()
{
}

int main()
{
    std::thread my_t(my_thread);
    my_t.join();
}
