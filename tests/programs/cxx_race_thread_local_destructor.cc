// Destructors of thread_local objects of two threads write one counter.
// race: a a
#include <thread>

static int destroyed;

struct Local {
    int used = 0;
    ~Local()
    {
        destroyed += used; // [a]
    }
};

thread_local Local local;

static void work()
{
    local.used = 1;
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
}
