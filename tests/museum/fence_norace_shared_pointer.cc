// Two owners of an object count down; who counts to zero passes an acquire fence and deletes it.
// issue: https://github.com/electronicarts/EASTL/issues/543
// tool: ThreadSanitizer
// there: false alarm; the fence before the destruction of a shared pointer's object is not seen
// verdict: no race; the release decrements form a release sequence that the fence acquires
//   ([atomics.fences]p4)
#include "prog.h"
#include <atomic>
#include <thread>

struct Object {
    std::atomic<int> owners{ 2 };
    int uses[2] = {};
};

static int first_gone;

static void drop(Object *object)
{
    if (object->owners.fetch_sub(1, std::memory_order_release) == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);
        delete object;
    }
}

int main()
{
    Object *object = new Object;
    std::thread one([=] {
        object->uses[0] = 1;
        drop(object);
        tell(&first_gone);
    });
    std::thread two([=] {
        object->uses[1] = 1;
        await(&first_gone);
        drop(object);
    });
    one.join();
    two.join();
}
