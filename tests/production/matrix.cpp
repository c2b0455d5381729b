// matrix.cpp - a program for the build matrix: prints numbers that no build may change
#include "matrix.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

static std::atomic<long> total;
static long cells[256];
static char bytes[2][512];
static __int128 wide;
thread_local long own;
extern "C" unsigned library_work(unsigned) __attribute__((weak));

static void work(int k)
{
    cell *list = nullptr;
    for (int i = 0; i < 50; i++)
        list = push(list, i * k);
    long sum = second(list, cells, 256);
    try {
        sum += find(list, 7 * k);
        sum += find(list, -1);
    } catch (const std::out_of_range &) {
        sum += 1000;
    }
    while (list) {
        cell *next = list->next;
        delete list;
        list = next;
    }
    own += sum;
    total.fetch_add(own, std::memory_order_acq_rel);
}

int main(int argc, char **)
{
    std::thread t[4];
    for (int i = 0; i < 4; i++) {
        cells[i] = i; // the threads only read them
        bytes[0][i] = (char)i;
    }
    for (int i = 0; i < 4; i++)
        t[i] = std::thread(work, i + 1);
    for (auto &x : t)
        x.join();
    memcpy(bytes[1], bytes[0], 512);
    memmove(bytes[1] + argc, bytes[1], 100);
    wide = wide * 3 + bytes[1][3];
    printf("%ld %d %ld", total.load(), bytes[1][3] + bytes[1][4], (long)wide);
    if (library_work)
        printf(" %u", library_work(6));
    printf("\n");
}
