/* libc_export.c - see libc_export.h */
#include "runtime/libc/libc_export.h"

bool __heddle_rt_recording(void)
{
    return rt_recording();
}

void __heddle_rt_read(const void *address, uint64_t bytes, uint64_t where)
{
    rt_read(address, bytes, where);
}

void __heddle_rt_write(const void *address, uint64_t bytes, uint64_t where)
{
    rt_write(address, bytes, where);
}

#ifndef HEDDLE_STATIC
void *__heddle_rt_next_definition(const char *name)
{
    return rt_next_definition(name);
}
#endif

void __heddle_fd_release(int fd, uint64_t where)
{
    fd_release(fd, where);
}

void __heddle_fd_acquire(int fd, uint64_t where)
{
    fd_acquire(fd, where);
}

void __heddle_fd_name_changes(const char *path, uint64_t where)
{
    fd_name_changes(path, where);
}

void __heddle_fd_name_seen(const char *path, uint64_t where)
{
    fd_name_seen(path, where);
}
