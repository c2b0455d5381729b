// Weak pointers of libc++ to a dead object are reset by many threads.
// issue: https://github.com/llvm/llvm-project/issues/111048
// tool: ThreadSanitizer
// there: false alarm; the release of the control block, which libc++.so does, is not seen
// verdict: no race; the last of the weak counts frees the block, after all others
// flags: -stdlib=libc++
#include <memory>
#include <thread>
#include <vector>

int main()
{
    for (int round = 0; round < 5; round++) {
        std::weak_ptr<int> outer = std::shared_ptr<int>(new int);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([w = outer]() mutable { w.reset(); });
        outer.reset();
        for (auto &t : threads)
            t.join();
    }
}
