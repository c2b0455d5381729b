// Atomic counters of C++ inside sections, once their functions are inlined.
// predicted: a_atomic b_atomic
// predicted: a_shared b_shared
// flags: -O1
// flags: -O2
#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "prog.h"

static std::mutex lock;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- an atomic counter ---- */

int x_atomic;
static std::atomic<long> served;

THREAD(first_atomic)
{
    x_atomic = 1; // [a_atomic]
    {
        std::lock_guard<std::mutex> guard(lock);
        served.fetch_add(1, std::memory_order_relaxed);
    }
    return NULL;
}

THREAD(second_atomic)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        served.fetch_add(1, std::memory_order_relaxed);
    }
    x_atomic = 2; // [b_atomic]
    return NULL;
}

/* ---- a shared mutex ---- */

int x_shared;
static std::shared_mutex shared;
static int exclusive;

THREAD(first_shared)
{
    x_shared = 1; // [a_shared]
    shared.lock();
    exclusive++;
    shared.unlock();
    return NULL;
}

THREAD(second_shared)
{
    later();
    shared.lock();
    exclusive++;
    shared.unlock();
    x_shared = 2; // [b_shared]
    return NULL;
}

int main(void)
{
    run_two(first_atomic, second_atomic);
    run_two(first_shared, second_shared);
    return 0;
}
