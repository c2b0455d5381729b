// The class, which the program gets compiled.
#include "library_thread_class.h"
#include <pthread.h>

LibraryThread::~LibraryThread()
{
}

static void *body(void *self)
{
    static_cast<LibraryThread *>(self)->run();
    return nullptr;
}

void LibraryThread::start()
{
    pthread_create(&handle, nullptr, body, this);
}

void LibraryThread::wait()
{
    pthread_join(handle, nullptr);
}
