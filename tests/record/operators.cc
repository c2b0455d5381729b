// operators.cc - new and delete that libstdc++ makes of each other: one event each, at the program's line
#include <cstddef>
struct counted {
    int a;
    ~counted();
};
static int sum;
counted::~counted()
{
    sum += a;
}
int *volatile numbers;
counted *volatile several, *volatile one;
int main()
{
    numbers = new int[5];   // alloc
    several = new counted[3]; // alloc
    one = new counted;      // alloc
    delete[] numbers;       // free
    delete[] several;       // free
    delete one;             // free
    return 0;
}
