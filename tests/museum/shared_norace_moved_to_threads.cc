// A shared pointer goes to several threads; whoever is last destroys the object.
// issue: https://github.com/google/sanitizers/issues/1441
//   https://github.com/SophistSolutions/Stroika/issues/815
// tool: ThreadSanitizer
// there: false alarm; a race in std::__shared_count
// verdict: no race; the counter's decrements are acquire and release
#include <memory>
#include <thread>

struct Request {
    int used[3] = {};
    ~Request()
    {
        if (used[0] + used[1] + used[2] != 3)
            std::terminate();
    }
};

int main()
{
    auto request = std::make_shared<Request>();
    std::thread threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = std::thread([request, i]() mutable {
            request->used[i] = 1;
            request.reset();
        });
    request.reset();
    for (auto &t : threads)
        t.join();
}
