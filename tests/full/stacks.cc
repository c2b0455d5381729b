// stacks.cc - each write to `mark` says which functions are active: calls, recursion, exceptions,
// longjmp out of several frames, callbacks from untraced code, tail calls
#include "say.h"

#include <csetjmp>
#include <stdexcept>

#define NOINLINE extern "C" __attribute__((noinline))
volatile int mark;
static jmp_buf buffer;
static volatile int zero;

NOINLINE void leaf(int n) { mark = n; }                           // leaf
NOINLINE void recurse(int n) { if (n) { recurse(n - 1); mark = 50 + n; } else leaf(50); }
NOINLINE void thrower(int n) { mark = 60 + n; if (n == 0) throw std::runtime_error("x"); thrower(n - 1); mark = 99; }
NOINLINE void cleaner(int n) { struct g { ~g() { mark = 70; } } guard; thrower(n); }
NOINLINE void catcher(int n) { try { cleaner(n); } catch (const std::runtime_error &) { mark = 71; } mark = 72; }
NOINLINE void jumper(int n) { if (n == 0) { mark = 80; longjmp(buffer, 1); } jumper(n - 1); mark = 99; }
NOINLINE void setter(int n) { if (!setjmp(buffer)) jumper(n); mark = 81; leaf(82); }
NOINLINE void back(void *p) { mark = 90; leaf(91); *static_cast<int *>(p) = 1; }
NOINLINE int tail(int n) { mark = 95; return n; }
NOINLINE int tailer(int n) { return tail(n + zero); }

int main()
{
    int done = 0;
    for (int i = 0; i < 3; i++) {
        mark = 1;
        leaf(2);
        recurse(3);
        catcher(2);
        mark = 4;
        setter(3);
        mark = 5;
        untraced_call(back, &done);
        mark = 6;
        tailer(7);
        leaf(8);
    }
    say("done", static_cast<unsigned>(done));
}
