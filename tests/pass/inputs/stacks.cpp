// Exceptions, longjmp, tail calls: the shadow stack is 0 deep at the end.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <string>

static int total;
static jmp_buf place;

__attribute__((noinline)) int thrower(int n)
{
    total += n;
    if (n == 0)
        throw std::runtime_error("zero");
    return thrower(n - 1) + 1;
}

struct Cleaner {
    int &to;
    ~Cleaner()
    {
        to += 100;
    }
};

__attribute__((noinline)) int cleans(int n)
{
    Cleaner c{ total };
    return thrower(n);
}

__attribute__((noinline)) void jumper(int n)
{
    total++;
    if (n == 0)
        longjmp(place, 7);
    jumper(n - 1);
}

int tail(int n);
__attribute__((noinline)) int tail2(int n)
{
    total++;
    if (n == 0)
        return total;
#ifdef __clang__
    [[clang::musttail]]
#endif
    return tail(n - 1);
}
int tail(int n)
{
    total++;
    return tail2(n);
}

int main()
{
    try {
        cleans(5);
    } catch (const std::exception &e) {
        total += (int)std::string(e.what()).size();
    }
    int r = setjmp(place);
    if (r == 0)
        jumper(4);
    int t = tail(1000);
    printf("%d %d %d\n", total, r, t);
    return 0;
}
