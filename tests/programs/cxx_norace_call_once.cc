// std::call_once, also when the first attempt throws.
// gcc: also
// tsan: hangs
#include <mutex>
#include <thread>

std::once_flag flag;
int tries, value;

static void init()
{
    if (tries++ == 0)
        throw 1;
    value = 7;
}

static int get()
{
    for (;;)
        try {
            std::call_once(flag, init);
            return value;
        } catch (int) {
        }
}

int main()
{
    int a = 0, b = 0;
    std::thread x([&] { a = get(); });
    std::thread y([&] { b = get(); });
    x.join();
    y.join();
    return a + b - 14 + tries - 2;
}
