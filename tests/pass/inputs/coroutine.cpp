// C++20 coroutines, lambdas, thread_local with a destructor, atomic smart pointers.
#include <atomic>
#include <coroutine>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Generator {
    struct promise_type {
        int value = 0;
        Generator get_return_object()
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
        std::suspend_always yield_value(int v)
        {
            value = v;
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

static int total;
static Generator count(int n)
{
    for (int i = 0; i < n; i++) {
        total += i;
        co_yield i;
    }
}

struct Noisy {
    std::string text = "hello";
    ~Noisy()
    {
        total++;
    }
};
thread_local Noisy noisy;

int main()
{
    auto g = count(4);
    std::vector<int> seen;
    while (g.handle.resume(), !g.handle.done())
        seen.push_back(g.handle.promise().value);
    g.handle.destroy();
    std::shared_ptr<int> p = std::make_shared<int>(5), q;
    std::atomic_store(&q, p);
    auto add = [&](int x) { total += x + *std::atomic_load(&q); };
    add(1);
    printf("%d %zu %s\n", total, seen.size(), noisy.text.c_str());
    return 0;
}
