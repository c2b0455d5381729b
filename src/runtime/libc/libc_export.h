/* libc_export.h - what libc_names.c needs of the runtime, under names that leave the library
 *
 * The runtime's inner names are local to libheddle-rt; libheddle-rt-libc is
 * linked separately. Included after rt.h and fd.h, it lets the same text use these.
 */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_EXPORT_H
#define HEDDLE_RUNTIME_LIBC_LIBC_EXPORT_H

#include "runtime/interpose/fd.h"
#include "runtime/core/rt.h"

EXPORT bool __heddle_rt_recording(void);
EXPORT void __heddle_rt_read(const void *address, uint64_t bytes, uint64_t where);
EXPORT void __heddle_rt_write(const void *address, uint64_t bytes, uint64_t where);
EXPORT void *__heddle_rt_next_definition(const char *name);
EXPORT void __heddle_fd_release(int fd, uint64_t where);
EXPORT void __heddle_fd_acquire(int fd, uint64_t where);
EXPORT void __heddle_fd_name_changes(const char *path, uint64_t where);
EXPORT void __heddle_fd_name_seen(const char *path, uint64_t where);

#ifdef LIBC_NAMES
#define rt_recording       __heddle_rt_recording
#define rt_read            __heddle_rt_read
#define rt_write           __heddle_rt_write
#define rt_wrote           __heddle_rt_write /* values: full builds only */
#define rt_next_definition __heddle_rt_next_definition
#define fd_release         __heddle_fd_release
#define fd_acquire         __heddle_fd_acquire
#define fd_name_changes    __heddle_fd_name_changes
#define fd_name_seen       __heddle_fd_name_seen
#endif

#endif
