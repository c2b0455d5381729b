// std::condition_variable: notified after the unlock, deleted as soon as the wait is over.
// race: one gone
// race: all gone
// may: one|all delete
#include "prog.h"

#include <condition_variable>
#include <mutex>
#include <thread>

struct job { // [gone]
    std::mutex lock;
    std::condition_variable cond;
    bool waits = false, done = false;
};
int signalled;

static void finish(job *j, bool all)
{
    for (;;) {
        std::lock_guard<std::mutex> hold(j->lock);
        if (j->waits) {
            j->done = true;
            break;
        }
    }
    if (all)
        j->cond.notify_all(); // [all]
    else
        j->cond.notify_one(); // [one]
    tell(&signalled);
}

static void wait_for(job *j)
{
    std::unique_lock<std::mutex> hold(j->lock);
    j->waits = true;
    j->cond.wait(hold, [j] { return j->done; });
}

int main()
{
    job *j = new job;
    std::thread t(finish, j, false);
    wait_for(j);
    await(&signalled);
    delete j; // [delete]
    t.join();
    signalled = 0;
    job *k = new job;
    std::thread u(finish, k, true);
    wait_for(k);
    await(&signalled);
    delete k; // [delete]
    u.join();
    return 0;
}
