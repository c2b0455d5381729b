// Output through iostreams, in order, with threads.
// stdout: child 1
// stdout: main 2
// gcc: also
#include <iostream>
#include <sstream>
#include <thread>

int main()
{
    int x = 0;
    std::thread([&] {
        std::ostringstream text;
        text << "child " << ++x;
        std::cout << text.str() << std::endl;
    }).join();
    std::cout << "main " << ++x << "\n";
}
