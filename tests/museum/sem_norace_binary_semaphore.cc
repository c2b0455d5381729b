// std::binary_semaphore passes an integer on.
// issue: https://github.com/uxlfoundation/oneTBB/issues/358
// tool: ThreadSanitizer
// there: false alarm; synchronisation by the system's semaphores is not recognised
// verdict: no race; release() strongly happens before the acquire() that it lets through
// flags: -std=c++20
#include <semaphore>
#include <thread>

int main()
{
    int data = 0;
    std::binary_semaphore sem{ 0 };
    std::thread t([&] {
        data = 1;
        sem.release();
    });
    sem.acquire();
    data++;
    t.join();
    return data - 2;
}
