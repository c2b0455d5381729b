// C++: what sections count decides whether the second access is made.
// flags: -O1
// flags: -O0
// flags: -O2
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "prog.h"

static std::mutex lock;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- an exception ---- */

int x_throw;
static int thrown;

THREAD(first_throw)
{
    x_throw = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        thrown++;
    }
    return NULL;
}

THREAD(second_throw)
{
    later();
    int seen;
    {
        std::lock_guard<std::mutex> guard(lock);
        seen = thrown++;
    }
    try {
        if (seen)
            throw seen;
    } catch (int) {
        x_throw = 2;
    }
    return NULL;
}

/* ---- a string ---- */

int x_string;
static int number;
static std::string written;

THREAD(first_string)
{
    x_string = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        number++;
    }
    return NULL;
}

THREAD(second_string)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        written = std::to_string(number);
        number++;
    }
    if (written != "0")
        x_string = 2;
    return NULL;
}

/* ---- the size of a vector ---- */

int x_vector;
static size_t entries;

THREAD(first_vector)
{
    x_vector = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        entries++;
    }
    return NULL;
}

THREAD(second_vector)
{
    later();
    size_t size;
    {
        std::lock_guard<std::mutex> guard(lock);
        std::vector<int> v(entries);
        entries++;
        size = v.size();
    }
    if (size)
        x_vector = 2;
    return NULL;
}

/* ---- a virtual function ---- */

int x_virtual;
struct base {
    virtual void act()
    {
    }
};
struct derived : base {
    void act() override
    {
        x_virtual = 2;
    }
};
static base plain;
static derived special;
static base *const objects[] = { &plain, &special };
static unsigned which;

THREAD(first_virtual)
{
    x_virtual = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        which++;
    }
    return NULL;
}

THREAD(second_virtual)
{
    later();
    base *object;
    {
        std::lock_guard<std::mutex> guard(lock);
        object = objects[which & 1];
        which++;
    }
    object->act();
    return NULL;
}

/* ---- a member looked at later ---- */

int x_member;
struct cache {
    long hits = 0, shown = 0;
};
static cache the_cache;

THREAD(first_member)
{
    x_member = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        the_cache.hits++;
    }
    return NULL;
}

THREAD(second_member)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        the_cache.shown = the_cache.hits;
        the_cache.hits++;
    }
    if (the_cache.shown)
        x_member = 2;
    return NULL;
}

/* ---- captured ---- */

int x_lambda;
static int captured;

THREAD(first_lambda)
{
    x_lambda = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        captured++;
    }
    return NULL;
}

THREAD(second_lambda)
{
    later();
    int seen;
    {
        std::lock_guard<std::mutex> guard(lock);
        seen = captured++;
    }
    auto act = [seen] {
        if (seen)
            x_lambda = 2;
    };
    act();
    return NULL;
}

int main(void)
{
    run_two(first_throw, second_throw);
    run_two(first_string, second_string);
    run_two(first_vector, second_vector);
    run_two(first_virtual, second_virtual);
    run_two(first_member, second_member);
    run_two(first_lambda, second_lambda);
    return 0;
}
