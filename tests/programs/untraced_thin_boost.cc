/* As untraced_thin.c, by the name that libboost_thread has. */
#include "untraced_thin_boost.h"

#include <pthread.h>

static void *proxy(void *arg)
{
    static_cast<boost::thread *>(arg)->run();
    return nullptr;
}

bool boost::thread::start_thread_noexcept()
{
    return pthread_create(&id, nullptr, proxy, this) == 0;
}

void boost::thread::join_noexcept()
{
    pthread_join(id, nullptr);
}
