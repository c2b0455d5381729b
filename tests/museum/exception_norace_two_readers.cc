// Two threads rethrow one exception and read its text; who is last deletes it.
// issue: https://github.com/ex-actor/ex-actor/pull/247
// tool: ThreadSanitizer
// there: false alarm; it does not see the reference count inside of libstdc++.so
// verdict: no race; reading is no conflict, and the count's acquire and release order the deletion
#include <exception>
#include <stdexcept>
#include <thread>

static void reads(std::exception_ptr failure)
{
    try {
        std::rethrow_exception(std::move(failure));
    } catch (const std::exception &e) {
        if (e.what()[0] != 'f')
            std::terminate();
    }
}

int main()
{
    std::exception_ptr failure = std::make_exception_ptr(std::runtime_error("failed, and this is why it did"));
    std::thread a(reads, failure), b(reads, failure);
    failure = nullptr;
    a.join();
    b.join();
}
