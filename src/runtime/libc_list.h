/* libc_list.h - the libc functions that the runtime models
 *
 * X(name, nargs, variadic). The plugin turns a direct call of NAME in traced code, when NAME is a
 * declaration with `nargs` fixed parameters, into a call of the runtime's
 *
 *     __heddle_NAME(args..., uint32_t site)            variadic 0
 *     __heddle_NAME(uint32_t site, args..., ...)       variadic 1
 *
 * with the same result, which records what the function reads and writes at that site, and calls
 * NAME. The new call must lose the attributes of the old one (readonly, nounwind, tail ...): the
 * function writes memory, and blocking ones are cancellation points. A call that already stands
 * in for one of these (llvm.memcpy ...) is not in the list: the plugin emits ranges for it.
 *
 * Not modelled, on purpose: rand, random, strerror (glibc locks, or keeps their state per thread);
 * bsearch (touches elements through the caller's function only).
 */
#ifndef HEDDLE_RUNTIME_LIBC_LIST_H
#define HEDDLE_RUNTIME_LIBC_LIST_H

/* libc_memory.c, libc_string.c: also under their own names in libheddle-rt-libc */
#define LIBC_MEMORY(X)                                                                             \
    X(memcpy, 3, 0)                                                                                \
    X(memmove, 3, 0)                                                                               \
    X(memset, 3, 0)                                                                                \
    X(memcmp, 3, 0)                                                                                \
    X(bcmp, 3, 0)                                                                                  \
    X(memchr, 3, 0)                                                                                \
    X(memrchr, 3, 0)                                                                               \
    X(rawmemchr, 2, 0)                                                                             \
    X(memmem, 4, 0)                                                                                \
    X(mempcpy, 3, 0)                                                                               \
    X(__mempcpy, 3, 0)                                                                             \
    X(memccpy, 4, 0)                                                                               \
    X(explicit_bzero, 2, 0)                                                                        \
    X(bzero, 2, 0)                                                                                 \
    X(bcopy, 3, 0)                                                                                 \
    X(wmemcpy, 3, 0)                                                                               \
    X(wmemmove, 3, 0)                                                                              \
    X(wmemset, 3, 0)                                                                               \
    X(wcslen, 1, 0)                                                                                \
    X(wcscpy, 2, 0)                                                                                \
    X(__memcpy_chk, 4, 0)                                                                          \
    X(__memmove_chk, 4, 0)                                                                         \
    X(__mempcpy_chk, 4, 0)                                                                         \
    X(__memset_chk, 4, 0)                                                                          \
    X(__explicit_bzero_chk, 3, 0)

#define LIBC_STRING(X)                                                                             \
    X(strlen, 1, 0)                                                                                \
    X(strnlen, 2, 0)                                                                               \
    X(strcpy, 2, 0)                                                                                \
    X(strncpy, 3, 0)                                                                               \
    X(stpcpy, 2, 0)                                                                                \
    X(__stpcpy, 2, 0)                                                                              \
    X(stpncpy, 3, 0)                                                                               \
    X(strcat, 2, 0)                                                                                \
    X(strncat, 3, 0)                                                                               \
    X(strcmp, 2, 0)                                                                                \
    X(strncmp, 3, 0)                                                                               \
    X(strcasecmp, 2, 0)                                                                            \
    X(strncasecmp, 3, 0)                                                                           \
    X(strcoll, 2, 0)                                                                               \
    X(strchr, 2, 0)                                                                                \
    X(strerror_r, 3, 0)                                                                            \
    X(__xpg_strerror_r, 3, 0)                                                                      \
    X(strrchr, 2, 0)                                                                               \
    X(strchrnul, 2, 0)                                                                             \
    X(index, 2, 0)                                                                                 \
    X(rindex, 2, 0)                                                                                \
    X(strstr, 2, 0)                                                                                \
    X(strcasestr, 2, 0)                                                                            \
    X(strspn, 2, 0)                                                                                \
    X(strcspn, 2, 0)                                                                               \
    X(strpbrk, 2, 0)                                                                               \
    X(strdup, 1, 0)                                                                                \
    X(__strdup, 1, 0)                                                                              \
    X(strndup, 2, 0)                                                                               \
    X(strtok, 2, 0)                                                                                \
    X(strtok_r, 3, 0)                                                                              \
    X(__strtok_r, 3, 0)                                                                            \
    X(strsep, 2, 0)                                                                                \
    X(getsubopt, 3, 0)                                                                             \
    X(__strcpy_chk, 3, 0)                                                                          \
    X(__stpcpy_chk, 3, 0)                                                                          \
    X(__strncpy_chk, 4, 0)                                                                         \
    X(__stpncpy_chk, 4, 0)                                                                         \
    X(__strcat_chk, 3, 0)                                                                          \
    X(__strncat_chk, 4, 0)

/* libc_number.c */
#define LIBC_NUMBER(X)                                                                             \
    X(strtol, 3, 0)                                                                                \
    X(strtoul, 3, 0)                                                                               \
    X(strtoll, 3, 0)                                                                               \
    X(strtoull, 3, 0)                                                                              \
    X(strtoimax, 3, 0)                                                                             \
    X(strtoumax, 3, 0)                                                                             \
    X(__isoc23_strtol, 3, 0)                                                                       \
    X(__isoc23_strtoul, 3, 0)                                                                      \
    X(__isoc23_strtoll, 3, 0)                                                                      \
    X(__isoc23_strtoull, 3, 0)                                                                     \
    X(strtod, 2, 0)                                                                                \
    X(strtof, 2, 0)                                                                                \
    X(strtold, 2, 0)                                                                               \
    X(atoi, 1, 0)                                                                                  \
    X(atol, 1, 0)                                                                                  \
    X(atoll, 1, 0)                                                                                 \
    X(atof, 1, 0)                                                                                  \
    X(rand_r, 1, 0)                                                                                \
    X(qsort, 4, 0)                                                                                 \
    X(qsort_r, 5, 0)                                                                               \
    X(frexp, 2, 0)                                                                                 \
    X(modf, 2, 0)

/* libc_stdio.c */
#define LIBC_STDIO(X)                                                                              \
    X(fread, 4, 0)                                                                                 \
    X(fread_unlocked, 4, 0)                                                                        \
    X(fwrite, 4, 0)                                                                                \
    X(fwrite_unlocked, 4, 0)                                                                       \
    X(fgetc, 1, 0)                                                                                 \
    X(getc, 1, 0)                                                                                  \
    X(getchar, 0, 0)                                                                               \
    X(fgets, 3, 0)                                                                                 \
    X(fgets_unlocked, 3, 0)                                                                        \
    X(fputs, 2, 0)                                                                                 \
    X(fputs_unlocked, 2, 0)                                                                        \
    X(puts, 1, 0)                                                                                  \
    X(perror, 1, 0)                                                                                \
    X(getline, 3, 0)                                                                               \
    X(getdelim, 4, 0)                                                                              \
    X(__getdelim, 4, 0)                                                                            \
    X(fopen, 2, 0)                                                                                 \
    X(fopen64, 2, 0)                                                                               \
    X(__fread_chk, 5, 0)                                                                           \
    X(__fgets_chk, 4, 0)

/* libc_printf.c, libc_scanf.c */
#define LIBC_FORMAT(X)                                                                             \
    X(printf, 1, 1)                                                                                \
    X(fprintf, 2, 1)                                                                               \
    X(dprintf, 2, 1)                                                                               \
    X(sprintf, 2, 1)                                                                               \
    X(snprintf, 3, 1)                                                                              \
    X(asprintf, 2, 1)                                                                              \
    X(vprintf, 2, 0)                                                                               \
    X(vfprintf, 3, 0)                                                                              \
    X(vdprintf, 3, 0)                                                                              \
    X(vsprintf, 3, 0)                                                                              \
    X(vsnprintf, 4, 0)                                                                             \
    X(vasprintf, 3, 0)                                                                             \
    X(__printf_chk, 2, 1)                                                                          \
    X(__fprintf_chk, 3, 1)                                                                         \
    X(__dprintf_chk, 3, 1)                                                                         \
    X(__sprintf_chk, 4, 1)                                                                         \
    X(__snprintf_chk, 5, 1)                                                                        \
    X(__asprintf_chk, 3, 1)                                                                        \
    X(__vprintf_chk, 3, 0)                                                                         \
    X(__vfprintf_chk, 4, 0)                                                                        \
    X(__vdprintf_chk, 4, 0)                                                                        \
    X(__vsprintf_chk, 5, 0)                                                                        \
    X(__vsnprintf_chk, 6, 0)                                                                       \
    X(__vasprintf_chk, 4, 0)                                                                       \
    X(scanf, 1, 1)                                                                                 \
    X(fscanf, 2, 1)                                                                                \
    X(sscanf, 2, 1)                                                                                \
    X(vscanf, 2, 0)                                                                                \
    X(vfscanf, 3, 0)                                                                               \
    X(vsscanf, 3, 0)                                                                               \
    X(__isoc99_scanf, 1, 1)                                                                        \
    X(__isoc99_fscanf, 2, 1)                                                                       \
    X(__isoc99_sscanf, 2, 1)                                                                       \
    X(__isoc99_vscanf, 2, 0)                                                                       \
    X(__isoc99_vfscanf, 3, 0)                                                                      \
    X(__isoc99_vsscanf, 3, 0)                                                                      \
    X(__isoc23_scanf, 1, 1)                                                                        \
    X(__isoc23_fscanf, 2, 1)                                                                       \
    X(__isoc23_sscanf, 2, 1)                                                                       \
    X(__isoc23_vscanf, 2, 0)                                                                       \
    X(__isoc23_vfscanf, 3, 0)                                                                      \
    X(__isoc23_vsscanf, 3, 0)

/* libc_fd.c: the buffers; edges through descriptors are fd.c's */
#define LIBC_FD(X)                                                                                 \
    X(read, 3, 0)                                                                                  \
    X(pread, 4, 0)                                                                                 \
    X(pread64, 4, 0)                                                                               \
    X(readv, 3, 0)                                                                                 \
    X(preadv, 4, 0)                                                                                \
    X(write, 3, 0)                                                                                 \
    X(pwrite, 4, 0)                                                                                \
    X(pwrite64, 4, 0)                                                                              \
    X(writev, 3, 0)                                                                                \
    X(pwritev, 4, 0)                                                                               \
    X(__read_chk, 4, 0)                                                                            \
    X(__pread_chk, 5, 0)                                                                           \
    X(__pread64_chk, 5, 0)                                                                         \
    X(pipe, 1, 0)                                                                                  \
    X(pipe2, 2, 0)                                                                                 \
    X(poll, 3, 0)                                                                                  \
    X(ppoll, 4, 0)                                                                                 \
    X(__poll_chk, 4, 0)                                                                            \
    X(select, 5, 0)                                                                                \
    X(epoll_ctl, 4, 0)                                                                             \
    X(epoll_wait, 4, 0)                                                                            \
    X(epoll_pwait, 5, 0)                                                                           \
    X(eventfd_read, 2, 0)                                                                          \
    X(eventfd_write, 2, 0)                                                                         \
    X(getrandom, 3, 0)                                                                             \
    X(getentropy, 2, 0)                                                                            \
    X(msgsnd, 4, 0)                                                                                \
    X(msgrcv, 5, 0)                                                                                \
    X(mq_send, 4, 0)                                                                               \
    X(mq_receive, 4, 0)

/* libc_socket.c; the last three: libc_nss.c */
#define LIBC_SOCKET(X)                                                                             \
    X(recv, 4, 0)                                                                                  \
    X(recvfrom, 6, 0)                                                                              \
    X(recvmsg, 3, 0)                                                                               \
    X(__recv_chk, 5, 0)                                                                            \
    X(__recvfrom_chk, 7, 0)                                                                        \
    X(send, 4, 0)                                                                                  \
    X(sendto, 6, 0)                                                                                \
    X(sendmsg, 3, 0)                                                                               \
    X(socketpair, 4, 0)                                                                            \
    X(bind, 3, 0)                                                                                  \
    X(connect, 3, 0)                                                                               \
    X(accept, 3, 0)                                                                                \
    X(accept4, 4, 0)                                                                               \
    X(getsockname, 3, 0)                                                                           \
    X(getpeername, 3, 0)                                                                           \
    X(getsockopt, 5, 0)                                                                            \
    X(setsockopt, 5, 0)                                                                            \
    X(inet_ntop, 4, 0)                                                                             \
    X(inet_pton, 3, 0)                                                                             \
    X(inet_aton, 2, 0)                                                                             \
    X(getaddrinfo, 4, 0)                                                                           \
    X(getnameinfo, 7, 0)

/* libc_system.c: times, files, names */
#define LIBC_SYSTEM(X)                                                                             \
    X(gettimeofday, 2, 0)                                                                          \
    X(clock_gettime, 2, 0)                                                                         \
    X(clock_getres, 2, 0)                                                                          \
    X(nanosleep, 2, 0)                                                                             \
    X(clock_nanosleep, 4, 0)                                                                       \
    X(time, 1, 0)                                                                                  \
    X(localtime_r, 2, 0)                                                                           \
    X(gmtime_r, 2, 0)                                                                              \
    X(ctime_r, 2, 0)                                                                               \
    X(asctime_r, 2, 0)                                                                             \
    X(mktime, 1, 0)                                                                                \
    X(strftime, 4, 0)                                                                              \
    X(stat, 2, 0)                                                                                  \
    X(lstat, 2, 0)                                                                                 \
    X(fstat, 2, 0)                                                                                 \
    X(fstatat, 4, 0)                                                                               \
    X(stat64, 2, 0)                                                                                \
    X(lstat64, 2, 0)                                                                               \
    X(fstat64, 2, 0)                                                                               \
    X(fstatat64, 4, 0)                                                                             \
    X(statvfs, 2, 0)                                                                               \
    X(statvfs64, 2, 0)                                                                             \
    X(statfs, 2, 0)                                                                                \
    X(statfs64, 2, 0)                                                                              \
    X(fstatvfs, 2, 0)                                                                              \
    X(fstatvfs64, 2, 0)                                                                            \
    X(fstatfs, 2, 0)                                                                               \
    X(fstatfs64, 2, 0)                                                                             \
    X(mkstemp, 1, 0)                                                                               \
    X(mkstemp64, 1, 0)                                                                             \
    X(mkostemp, 2, 0)                                                                              \
    X(mkostemp64, 2, 0)                                                                            \
    X(mkdtemp, 1, 0)                                                                               \
    X(access, 2, 0)                                                                                \
    X(unlink, 1, 0)                                                                                \
    X(rename, 2, 0)                                                                                \
    X(rmdir, 1, 0)                                                                                 \
    X(mkdir, 2, 0)                                                                                 \
    X(remove, 1, 0)                                                                                \
    X(open, 2, 1)                                                                                  \
    X(open64, 2, 1)                                                                                \
    X(getcwd, 2, 0)                                                                                \
    X(__getcwd_chk, 3, 0)                                                                          \
    X(realpath, 2, 0)                                                                              \
    X(__realpath_chk, 3, 0)                                                                        \
    X(readlink, 3, 0)                                                                              \
    X(__readlink_chk, 4, 0)                                                                        \
    X(gethostname, 2, 0)                                                                           \
    X(__gethostname_chk, 3, 0)                                                                     \
    X(uname, 1, 0)                                                                                 \
    X(getrusage, 2, 0)                                                                             \
    X(getrlimit, 2, 0)                                                                             \
    X(getrlimit64, 2, 0)                                                                           \
    X(wait, 1, 0)                                                                                  \
    X(waitpid, 3, 0)                                                                               \
    X(wait4, 4, 0)                                                                                 \
    X(getitimer, 2, 0)                                                                             \
    X(sched_getaffinity, 3, 0)                                                                     \
    X(getloadavg, 2, 0)                                                                            \
    X(dladdr, 2, 0)                                                                                \
    X(getopt, 3, 0)                                                                                \
    X(getopt_long, 5, 0)                                                                           \
    X(getopt_long_only, 5, 0)                                                                      \
    X(iconv, 5, 0)

/* libc_signal.c */
#define LIBC_SIGNAL(X)                                                                             \
    X(sigprocmask, 3, 0)                                                                           \
    X(pthread_sigmask, 3, 0)                                                                       \
    X(sigpending, 1, 0)                                                                            \
    X(sigemptyset, 1, 0)                                                                           \
    X(sigfillset, 1, 0)                                                                            \
    X(sigaddset, 2, 0)                                                                             \
    X(sigdelset, 2, 0)                                                                             \
    X(sigismember, 2, 0)

/* libc_hidden.c: state inside libc that calls share */
#define LIBC_HIDDEN(X)                                                                             \
    X(localtime, 1, 0)                                                                             \
    X(gmtime, 1, 0)                                                                                \
    X(ctime, 1, 0)                                                                                 \
    X(asctime, 1, 0)                                                                               \
    X(getenv, 1, 0)                                                                                \
    X(secure_getenv, 1, 0)                                                                         \
    X(setenv, 3, 0)                                                                                \
    X(putenv, 1, 0)                                                                                \
    X(unsetenv, 1, 0)                                                                              \
    X(clearenv, 0, 0)                                                                              \
    X(setlocale, 2, 0)                                                                             \
    X(localeconv, 0, 0)                                                                            \
    X(drand48, 0, 0)                                                                               \
    X(lrand48, 0, 0)                                                                               \
    X(mrand48, 0, 0)                                                                               \
    X(srand48, 1, 0)                                                                               \
    X(opendir, 1, 0)                                                                               \
    X(readdir, 1, 0)                                                                               \
    X(readdir64, 1, 0)                                                                             \
    X(rewinddir, 1, 0)                                                                             \
    X(getpwnam, 1, 0)                                                                              \
    X(getpwuid, 1, 0)                                                                              \
    X(getgrnam, 1, 0)                                                                              \
    X(getgrgid, 1, 0)                                                                              \
    X(gethostbyname, 1, 0)                                                                         \
    X(gethostbyaddr, 3, 0)                                                                         \
    X(getservbyname, 2, 0)                                                                         \
    X(getprotobyname, 1, 0)                                                                        \
    X(ttyname, 1, 0)                                                                               \
    X(ptsname, 1, 0)                                                                               \
    X(getlogin, 0, 0)

#define LIBC_FUNCTIONS(X)                                                                          \
    LIBC_MEMORY(X)                                                                                 \
    LIBC_STRING(X)                                                                                 \
    LIBC_NUMBER(X)                                                                                 \
    LIBC_STDIO(X)                                                                                  \
    LIBC_FORMAT(X)                                                                                 \
    LIBC_FD(X)                                                                                     \
    LIBC_SOCKET(X)                                                                                 \
    LIBC_SYSTEM(X)                                                                                 \
    LIBC_SIGNAL(X)                                                                                 \
    LIBC_HIDDEN(X)

#endif
