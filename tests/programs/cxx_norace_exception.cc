// Exceptions through many frames, locks released by destructors on the way.
// flags: -O0
// flags: -O2
// gcc: also
#include <mutex>
#include <stdexcept>
#include <thread>

std::mutex lock;
int x, caught;

static void thrower(int depth)
{
    std::unique_lock<std::mutex> guard(lock, std::defer_lock);
    if (depth == 0) {
        guard.lock();
        x++;
        throw std::runtime_error("deep");
    }
    thrower(depth - 1);
}

static void work()
{
    for (int i = 0; i < 20; i++)
        try {
            thrower(10);
        } catch (const std::exception &) {
            std::lock_guard<std::mutex> guard(lock);
            caught++;
        }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    return x - caught;
}
