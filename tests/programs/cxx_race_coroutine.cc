// Two threads resume two coroutines that share a variable.
// race: a a
// flags: -std=c++20
#include <atomic>
#include <coroutine>
#include <thread>

struct Task {
    struct promise_type {
        Task get_return_object()
        {
            return { std::coroutine_handle<promise_type>::from_promise(*this) };
        }
        std::suspend_always initial_suspend()
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
        }
    };
    std::coroutine_handle<promise_type> handle;
};

int steps;
std::atomic<int> here;

/* Both are there before either goes on: otherwise the call that starts the second thread, whose code
 * is not traced, may order them. */
static void resume(Task &task)
{
    here.fetch_add(1, std::memory_order_relaxed);
    while (here.load(std::memory_order_relaxed) < 2)
        ;
    task.handle.resume();
}

static Task body()
{
    steps++; // [a]
    co_return;
}

int main()
{
    Task one = body(), two = body();
    std::thread a([&] { resume(one); }), b([&] { resume(two); });
    a.join();
    b.join();
}
