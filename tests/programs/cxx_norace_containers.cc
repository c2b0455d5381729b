// Strings, lists and trees of libstdc++ under a lock: nothing is reported, and they hold what they
// should. The program has its own copies of what libstdc++.so does to their nodes.
// flags: -O0
// flags: -O2 -std=c++11
// flags: -O2 -std=c++20
// flags: -O1 -D_GLIBCXX_USE_CXX11_ABI=0
// stdout: right
#include "prog.h"

#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

typedef std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>> tree;

static std::mutex mutex;
static tree numbers;
static std::multimap<int, std::string> names;
static std::list<int> order;
static std::string text;
static bool present[64];
static int count, wrong;

static void change(unsigned seed)
{
    for (int i = 0; i < 40; i++) {
        std::lock_guard<std::mutex> l(mutex);
        seed = seed * 1103515245 + 12345;
        int n = seed >> 16 & 63;
        if (present[n]) {
            numbers.erase(n);
            names.erase(names.find(n % 7));
            order.remove(n);
        } else {
            numbers._M_insert_unique(n);
            names.insert(std::make_pair(n % 7, std::to_string(n) + " has a name of some length"));
            order.push_back(n);
        }
        present[n] = !present[n];
        count += present[n] ? 1 : -1;
        text.insert(text.size() / 2, 1, 'x');
        if (text.size() > 100)
            text.erase(10, 50);
    }
}

static void check()
{
    int before = -1, seen = 0;
    for (tree::iterator i = numbers.begin(); i != numbers.end(); ++i, seen++) {
        wrong += *i <= before || !present[*i];
        before = *i;
    }
    for (tree::iterator i = numbers.end(); i != numbers.begin(); seen--)
        --i;
    wrong += seen != 0 || !numbers.__rb_verify() || (int)numbers.size() != count;
    wrong += (int)names.size() != count || (int)order.size() != count;
    std::list<int> other, third(order);
    other.swap(order);
    other.reverse();
    order.splice(order.begin(), other, ++other.begin(), other.end());
    order.splice(order.end(), other);
    order.sort();
    third.sort();
    wrong += order != third || (int)third.size() != count;
    third.swap(other);
    other.swap(third);
    wrong += !other.empty();
}

int main()
{
    std::vector<std::thread> threads;
    for (unsigned i = 1; i <= 3; i++)
        threads.emplace_back(change, i);
    for (auto &t : threads)
        t.join();
    check();
    while (numbers.size())
        numbers.erase(numbers.begin());
    std::puts(wrong ? "wrong" : "right");
    return 0;
}
