// std::thread with arguments by reference, joined; std::jthread joins by itself.
// flags: -std=c++20
// gcc: also
#include <thread>
#include <vector>

static void add(std::vector<int> &v, int n)
{
    for (int i = 0; i < n; i++)
        v.push_back(i);
}

int main()
{
    std::vector<int> one, two;
    {
        std::jthread a(add, std::ref(one), 100);
        std::jthread b(add, std::ref(two), 50);
    }
    one.insert(one.end(), two.begin(), two.end());
    return one.size() == 150 ? 0 : 1;
}
