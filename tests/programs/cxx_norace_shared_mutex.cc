// std::shared_mutex: shared readers, exclusive writers.
// flags: -std=c++17
// gcc: also
#include <map>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

std::shared_mutex lock;
std::map<int, std::string> table;

static void look_up()
{
    for (int i = 0; i < 20; i++) {
        std::shared_lock<std::shared_mutex> guard(lock);
        auto found = table.find(i);
        if (found != table.end() && found->second.empty())
            std::abort();
    }
}

static void fill()
{
    for (int i = 0; i < 20; i++) {
        std::unique_lock<std::shared_mutex> guard(lock);
        table[i] = "value that does not fit into the small string " + std::to_string(i);
    }
}

int main()
{
    std::thread a(look_up), b(fill), c(look_up);
    a.join();
    b.join();
    c.join();
}
