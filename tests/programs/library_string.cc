// A library that guards its string, list and set in a way that nobody sees. (Of long: templates that
// program and library share are one function, as everywhere.)
#include <atomic>
#include <list>
#include <set>
#include <string>

static std::atomic_flag busy = ATOMIC_FLAG_INIT;
static std::string text;
static std::list<long> list;
static std::set<long> set;

extern "C" void library_add(const char *s);
extern "C" void library_add(const char *s)
{
    while (busy.test_and_set(std::memory_order_acquire))
        ;
    text.append(s).insert(0, "a text of some length");
    list.push_back(1);
    set.insert((long)text.size());
    busy.clear(std::memory_order_release);
}
