// libc++: written while others hold the shared mutex for reading, too.
// race: a b
// flags: -std=c++20 -stdlib=libc++
#include "prog.h"

#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
int value;
static int in_thread, in_main;

int main()
{
    std::thread t([] {
        std::shared_lock l(mutex);
        tell(&in_thread);
        await(&in_main);
        value = 1; // [a]
    });
    {
        std::shared_lock l(mutex);
        tell(&in_main);
        await(&in_thread);
        value = 2; // [b]
    }
    t.join();
    return 0;
}
