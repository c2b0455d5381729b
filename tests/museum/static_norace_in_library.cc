// A function-local static in a shared library is first used by two threads.
// issue: https://github.com/apple/foundationdb/pull/3100
// tool: ThreadSanitizer
// there: false alarm; the initialisation of a local static in a library linked with a static
//   libcxx
// verdict: no race; [stmt.dcl]p3: concurrent executions wait for the initialisation
// library: static_library.cc traced
#include <thread>

int *library_data();

int main()
{
    int sum[2] = {};
    std::thread a([&] { sum[0] = *library_data(); }), b([&] { sum[1] = *library_data(); });
    a.join();
    b.join();
    return sum[0] + sum[1] - 10;
}
