// What a locale and a stream keep other threads may get from it.
#include <locale>
#include <ostream>
#include <pthread.h>
#include <streambuf>

struct facet : std::locale::facet {
    static std::locale::id id;
    mutable int n = 0;
    facet() : std::locale::facet(1) {}
};
std::locale::id facet::id;
static int ready;

struct buffer : std::streambuf {
    int n = 0;
};
static std::ostream out(nullptr);

static void *run(void *arg)
{
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    std::use_facet<facet>(std::locale()).n++;
    static_cast<buffer *>(out.rdbuf())->n++;
    return arg;
}

int main()
{
    pthread_t t;
    facet *f = new facet;
    buffer *b = new buffer;

    pthread_create(&t, nullptr, run, nullptr);
    std::locale::global(std::locale(std::locale(), f));
    out.rdbuf(b);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    f->n++;
    b->n++;
    pthread_join(t, nullptr);
    return 0;
}
