// 65 objects of std::mutex in an array on the stack, all locked.
// issue: https://github.com/llvm/llvm-project/issues/57007
// tool: ThreadSanitizer
// there: crash; a failed check, after which the program does not go on
// verdict: no race; one thread
#include <mutex>

int main()
{
    std::mutex locks[65];
    for (auto &lock : locks)
        lock.lock();
    for (auto &lock : locks)
        lock.unlock();
}
