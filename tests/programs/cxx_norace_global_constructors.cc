// Global constructors and destructors run before and after all threads.
#include <cstdlib>
#include <string>
#include <thread>

struct Global {
    std::string text = "constructed before main, longer than the small buffer";
    ~Global()
    {
        text += "!";
        if (text.size() != 55)
            std::_Exit(1);
    }
} global;

int main()
{
    std::thread([] { global.text += "?"; }).join();
}
