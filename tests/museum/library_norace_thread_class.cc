// A thread class of an untraced library runs the program's function.
// issue: https://github.com/mixxxdj/mixxx/pull/13872
// tool: ThreadSanitizer
// there: false alarm; members set before QThread::start against their use in run()
// verdict: no race; the library creates and joins the thread by pthread
// library: library_thread_class.cc untraced
#include "library_thread_class.h"

struct Browse : LibraryThread {
    int setting = 0, seen = 0;
    void run() override
    {
        seen = setting;
    }
};

int main()
{
    Browse browse;
    browse.setting = 3;
    browse.start();
    browse.wait();
    return browse.seen - 3;
}
