// std::scoped_lock takes several locks in any order without a deadlock: it tries and backs off.
// gcc: also
#include <mutex>
#include <thread>

std::mutex a, b;
int x;

int main()
{
    std::thread first([] {
        for (int i = 0; i < 20; i++) {
            std::scoped_lock both(a, b);
            x++;
        }
    });
    std::thread second([] {
        for (int i = 0; i < 20; i++) {
            std::scoped_lock both(b, a);
            x++;
        }
    });
    first.join();
    second.join();
    return x - 40;
}
