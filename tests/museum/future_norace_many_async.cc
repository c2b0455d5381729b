// Eight thousand threads, one after the other, by std::async.
// issue: https://github.com/google/sanitizers/issues/1183
// tool: ThreadSanitizer
// there: crash; 'CHECK failed: ((tid)) < ((kMaxTid))' in a test of std::async that is repeated
// verdict: no race; get() waits for the thread's result
#include <future>

int main()
{
    long sum = 0;
    for (int i = 0; i < 8200; i++)
        sum += std::async(std::launch::async, [i] { return i & 1; }).get();
    return sum != 4100;
}
