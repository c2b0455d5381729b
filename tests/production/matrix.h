// matrix.h - inline functions that both units of the build matrix have: COMDAT copies with sites
#pragma once
#include <stdexcept>
#include <vector>

struct cell {
    cell *next;
    long value;
};

inline long add_all(const std::vector<long> &v)
{
    long sum = 0;
    for (long x : v)
        sum += x;
    return sum;
}

template <class T> T *push(T *list, long value)
{
    return new T{ list, value };
}

// Throws with sites before and after in the same function, and a cleanup on the way.
inline long find(const cell *list, long value)
{
    std::vector<long> seen;
    for (; list; list = list->next) {
        seen.push_back(list->value);
        if (list->value == value)
            return add_all(seen);
    }
    throw std::out_of_range("find");
}

long second(cell *list, long *cells, int n);
