// Two threads resume two coroutines that share a variable.
// race: a a
// flags: -std=c++20
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

static Task body()
{
    steps++; // [a]
    co_return;
}

int main()
{
    Task one = body(), two = body();
    std::thread a([&] { one.handle.resume(); }), b([&] { two.handle.resume(); });
    a.join();
    b.join();
}
