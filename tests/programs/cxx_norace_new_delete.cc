// new and delete in all forms; memory travels between threads without an edge of its own.
// flags: -std=c++17
// gcc: also
#include <new>
#include <thread>

struct alignas(64) Wide {
    int v[16];
};

static void work()
{
    for (int i = 0; i < 50; i++) {
        int *one = new int(i), *many = new int[10];
        Wide *wide = new Wide();
        void *raw = ::operator new(40, std::nothrow);
        many[9] = wide->v[3] = *one;
        delete one;
        delete[] many;
        delete wide;
        ::operator delete(raw);
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
}
