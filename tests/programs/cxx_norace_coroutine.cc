// A coroutine begun by one thread and resumed by another, which is joined.
// flags: -std=c++20
#include <coroutine>
#include <thread>

struct Task {
    struct promise_type {
        Task get_return_object()
        {
            return { std::coroutine_handle<promise_type>::from_promise(*this) };
        }
        std::suspend_never initial_suspend()
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

static int steps;

static Task body()
{
    int local = 1;
    steps += local++;
    co_await std::suspend_always();
    steps += local;
}

int main()
{
    Task task = body();
    std::thread t([&] { task.handle.resume(); });
    t.join();
    task.handle.destroy();
    return steps - 3;
}
