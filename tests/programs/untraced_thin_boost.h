#ifndef UNTRACED_THIN_BOOST_H
#define UNTRACED_THIN_BOOST_H
#include <pthread.h>

namespace boost
{
class thread
{
    pthread_t id;
    bool start_thread_noexcept();
    void join_noexcept();

  public:
    void (*run)();

    explicit thread(void (*f)()) : run(f)
    {
        start_thread_noexcept();
    }
    ~thread()
    {
        join_noexcept();
    }
};
} // namespace boost
#endif
