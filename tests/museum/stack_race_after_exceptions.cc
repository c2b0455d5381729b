// A thread races after it has thrown and caught a hundred exceptions through several functions.
// issue: https://github.com/google/sanitizers/issues/485
// tool: ThreadSanitizer
// there: unusable report; frames that an exception has left stay on the tool's stack
// verdict: race; nothing orders the two writes
// race: a b
// stack: a writes works
#include <thread>

int x;

__attribute__((noinline)) static void throws(int depth)
{
    if (!depth)
        throw depth;
    throws(depth - 1);
    x = 0;
}

__attribute__((noinline)) static void writes()
{
    x = 1; // [a]
}

__attribute__((noinline)) static void works()
{
    for (int i = 0; i < 100; i++) {
        try {
            throws(3);
        } catch (int) {
        }
    }
    writes();
}

int main()
{
    std::thread t(works);
    x = 2; // [b]
    t.join();
}
