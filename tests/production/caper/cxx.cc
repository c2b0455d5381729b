// Containers: nodes that libstdc++ links, strings, std::thread's state.
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#define NOINLINE __attribute__((noinline))
#define TOUCH(name)                                                                                \
    static NOINLINE void name(volatile int *p)                                                     \
    {                                                                                              \
        *p = *p + 1;                                                                               \
    }
static std::map<int, int> shared_map;
static std::list<int> shared_list;
static std::vector<std::unique_ptr<int>> shared_vector;
TOUCH(touch_map)
TOUCH(touch_private_map)
TOUCH(touch_list)
TOUCH(touch_private_list)
TOUCH(touch_vector)
TOUCH(touch_new)
TOUCH(touch_captured)
static void worker(int *captured)
{
    std::map<int, int> own;
    std::list<int> own_list;
    auto one = std::make_unique<int>(1);
    for (int i = 0; i < 5; i++) {
        own[i] = i;
        shared_map[i] = i;
    }
    own_list.push_back(1);
    shared_list.push_back(1);
    touch_map(&shared_map[3]);          /* ESCAPED touch_map */
    touch_private_map(&own[3]);         /* PRIVATE touch_private_map */
    touch_list(&shared_list.front());   /* ESCAPED touch_list */
    touch_private_list(&own_list.front()); /* PRIVATE touch_private_list */
    touch_new(one.get());               /* PRIVATE touch_new */
    shared_vector.push_back(std::move(one));
    touch_vector(shared_vector[0].get()); /* ESCAPED touch_vector */
    touch_captured(captured);           /* ESCAPED touch_captured */
}
int main()
{
    auto value = std::make_unique<int>(3);
    std::thread t(worker, value.get());
    t.join();
    return 0;
}
