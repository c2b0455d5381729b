// std::shared_mutex: shared readers, exclusive writers.
// flags: -std=c++17
// gcc: also
#include <map>
#include <shared_mutex>
#include <string>
#include <thread>

std::shared_mutex lock;
std::map<int, std::string> table;

static void read()
{
    for (int i = 0; i < 20; i++) {
        std::shared_lock<std::shared_mutex> guard(lock);
        auto found = table.find(i);
        if (found != table.end() && found->second.empty())
            std::abort();
    }
}

static void write()
{
    for (int i = 0; i < 20; i++) {
        std::unique_lock<std::shared_mutex> guard(lock);
        table[i] = "value that does not fit into the small string " + std::to_string(i);
    }
}

int main()
{
    std::thread a(read), b(write), c(read);
    a.join();
    b.join();
    c.join();
}
