// Counters of C++ classes, in sections of a guard.
// predicted: a_member b_member
// predicted: a_static b_static
// predicted: a_operator b_operator
// predicted: a_template b_template
// predicted: a_unique b_unique
// predicted: a_reference b_reference
// flags: -O1
// flags: -O0
// flags: -O2
#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "prog.h"

static std::mutex lock;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- a member that counts ---- */

int x_member;
struct cache {
    long lookups = 0;
    void look()
    {
        lookups++;
    }
};
static cache the_cache;

THREAD(first_member)
{
    x_member = 1; // [a_member]
    {
        std::lock_guard<std::mutex> guard(lock);
        the_cache.look();
    }
    return NULL;
}

THREAD(second_member)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        the_cache.look();
    }
    x_member = 2; // [b_member]
    return NULL;
}

/* ---- a static member ---- */

int x_static;
struct pool {
    static unsigned long taken;
};
unsigned long pool::taken;

THREAD(first_static)
{
    x_static = 1; // [a_static]
    {
        std::lock_guard<std::mutex> guard(lock);
        pool::taken += 2;
    }
    return NULL;
}

THREAD(second_static)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        pool::taken += 2;
    }
    x_static = 2; // [b_static]
    return NULL;
}

/* ---- an operator ---- */

int x_operator;
struct moments {
    double sum = 0, squares = 0;
    moments &operator+=(double v)
    {
        sum += v;
        squares += v * v;
        return *this;
    }
};
static moments measured;

THREAD(first_operator)
{
    x_operator = 1; // [a_operator]
    {
        std::lock_guard<std::mutex> guard(lock);
        measured += 0.5;
    }
    return NULL;
}

THREAD(second_operator)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        measured += 0.5;
    }
    x_operator = 2; // [b_operator]
    return NULL;
}

/* ---- a counter of any type ---- */

int x_template;
template <typename T> struct counter {
    T n = 0;
    void add(T by)
    {
        n += by;
    }
};
static counter<long> longs;
static counter<short> shorts;

THREAD(first_template)
{
    x_template = 1; // [a_template]
    {
        std::lock_guard<std::mutex> guard(lock);
        longs.add(3);
        shorts.add(1);
    }
    return NULL;
}

THREAD(second_template)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        longs.add(3);
        shorts.add(1);
    }
    x_template = 2; // [b_template]
    return NULL;
}

/* ---- a lock that is given back early ---- */

int x_unique;
static int uniques;

THREAD(first_unique)
{
    x_unique = 1; // [a_unique]
    std::unique_lock<std::mutex> held(lock);
    uniques++;
    held.unlock();
    return NULL;
}

THREAD(second_unique)
{
    later();
    std::unique_lock<std::mutex> held(lock);
    uniques++;
    held.unlock();
    x_unique = 2; // [b_unique]
    return NULL;
}

/* ---- by reference ---- */

int x_reference;
static long target;
static long &get()
{
    return target;
}

THREAD(first_reference)
{
    x_reference = 1; // [a_reference]
    {
        std::lock_guard<std::mutex> guard(lock);
        get()++;
    }
    return NULL;
}

THREAD(second_reference)
{
    later();
    {
        std::lock_guard<std::mutex> guard(lock);
        get()++;
    }
    x_reference = 2; // [b_reference]
    return NULL;
}

int main(void)
{
    run_two(first_member, second_member);
    run_two(first_static, second_static);
    run_two(first_operator, second_operator);
    run_two(first_template, second_template);
    run_two(first_unique, second_unique);
    run_two(first_reference, second_reference);
    return 0;
}
