// std::thread: the lambda runs beside main() until it is joined; exceptions carry pointers.
// pair: main lambda
// never: before lambda
// optimised: behind lambda
// pair: caught thrown
#include <thread>

static int shared, behind_throw;

static void thrower()
{
    throw &behind_throw;
}

int main()
{
    shared = 1; // [before]
    std::thread t([] {
        shared++; // [lambda]
        try {
            thrower();
        } catch (int *p) {
            *p = 3; // [caught]
        }
    });
    shared = 2;       // [main]
    behind_throw = 4; // [thrown]
    t.join();
    shared = 3; // [behind]
}
