// Two threads push into one vector: the race is inside the header, the line is ours.
// race: a a
// tsan: may crash
#include <thread>
#include <vector>

std::vector<int> v;

static void work()
{
    v.push_back(1); // [a]
}

int main()
{
    v.reserve(10);
    std::thread a(work), b(work);
    a.join();
    b.join();
}
