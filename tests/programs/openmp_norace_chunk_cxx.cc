// Chunks of loops in C++: objects of an iteration and of a thread, exceptions, tasks beside a loop.
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

#include <memory>
#include <numeric>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

enum { N = 200 };
static int done;
static std::vector<int> out(N);

struct Workspace {
    std::vector<int> buffer = std::vector<int>(8);
    int uses = 0;

    __attribute__((noinline)) int use(int i)
    {
        uses++;
        buffer[i % 8] = i;
        return buffer[(i + 1) % 8];
    }
};

static __attribute__((noinline)) int thrower(int i)
{
    if (i % 5 == 0)
        throw std::runtime_error("five");
    return i;
}

static void of_thread()
{
    Workspace space;
    auto shared = std::make_unique<Workspace>();
    auto use = [&](int i) { return space.use(i) + shared->use(i); };

#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        out[i] = space.use(i);
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        out[i] = shared->use(i);
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        out[i] = use(i);
}

static void of_iteration()
{
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++) {
        Workspace space;
        std::string text = std::to_string(i) + ", which is longer than a short string";
        std::vector<int> all(8);
        std::iota(all.begin(), all.end(), i);
        try {
            out[i] = thrower(i) + space.use(i);
        } catch (const std::exception &) {
            out[i] = (int)text.size() + all[3];
        }
    }
}

static void beside_tasks()
{
    int mine = 0;

#pragma omp task shared(mine)
    mine++;
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        out[i] = i;
#pragma omp taskwait
    mine++;
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < N; i++) {
#pragma omp task
        out[i]++;
#pragma omp taskwait
    }
}

int main()
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num())
            await(&done);
        of_thread();
        of_iteration();
        tell(&done);
#pragma omp barrier
        beside_tasks();
    }
    return 0;
}
