// thread_local objects with constructors and destructors.
// gcc: also
#include <string>
#include <thread>

static int destroyed;

struct Local {
    std::string text = "a text that is longer than the small string buffer";
    int *count = nullptr;
    ~Local()
    {
        if (count)
            ++*count;
    }
};

thread_local Local local;

static void work()
{
    local.text += "!";
    local.count = &destroyed;
}

int main()
{
    for (int i = 0; i < 5; i++)
        std::thread(work).join();
    return destroyed - 5;
}
