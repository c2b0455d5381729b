// Members of std::string that libstdc++.so has: an append without the lock meets a reader.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

#include <string>
#include <thread>

std::string text = "a text that does not fit into the string object itself";
static int done;

int main()
{
    std::thread t([] {
        text.append("more"); // [a]
        tell(&done);
    });
    await(&done);
    std::string copy = text; // [b]
    t.join();
    return copy.size() < 10;
}
