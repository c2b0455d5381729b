// A static local with a constructor: the compiler's guard orders.
// flags: -O0
// flags: -O2
// gcc: also
#include <string>
#include <thread>

static const std::string &name()
{
    static const std::string value("a name too long for the small string buffer");
    return value;
}

int main()
{
    size_t a = 0, b = 0;
    std::thread x([&] { a = name().size(); });
    std::thread y([&] { b = name().size(); });
    x.join();
    y.join();
    return a == b ? 0 : 1;
}
