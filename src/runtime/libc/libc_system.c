/* libc_system.c - times, files, names: structures and strings that libc or the kernel fills in */
#include "runtime/libc/libc.h"

/* A function whose pointer argument `out` is written when it succeeds. */
#define FILLS(name, out, params, args)                                                             \
    LIBC(int, name, params, args)                                                                  \
    {                                                                                              \
        int r = CALL(name) args;                                                                   \
                                                                                                   \
        if (r == 0)                                                                                \
            write_if(out, sizeof(*(out)), where);                                                  \
        return r;                                                                                  \
    }

/* ---- time ---- */

/* The time zone is an untyped pointer that must be NULL, or is filled with two ints. */
LIBC(int, gettimeofday, (struct timeval * t, void *zone), (t, zone))
{
    int r = CALL(gettimeofday)(t, zone);

    if (r == 0) {
        write_if(t, sizeof(*t), where);
        write_if(zone, sizeof(struct timezone), where);
    }
    return r;
}

FILLS(clock_gettime, t, (clockid_t clock, struct timespec *t), (clock, t))
FILLS(clock_getres, t, (clockid_t clock, struct timespec *t), (clock, t))

LIBC(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left))
{
    int r;

    rt_read(t, sizeof(*t), where);
    r = CALL(nanosleep)(t, left);
    if (r != 0)
        write_if(left, sizeof(*left), where);
    return r;
}

LIBC(int, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *t, struct timespec *left),
     (clock, flags, t, left))
{
    int r;

    rt_read(t, sizeof(*t), where);
    r = CALL(clock_nanosleep)(clock, flags, t, left);
    if (r == EINTR && !(flags & TIMER_ABSTIME))
        write_if(left, sizeof(*left), where);
    return r;
}

LIBC(time_t, time, (time_t *t), (t))
{
    time_t now = CALL(time)(t);

    write_if(t, sizeof(*t), where);
    return now;
}

LIBC(struct tm *, localtime_r, (const time_t *t, struct tm *out), (t, out))
{
    rt_read(t, sizeof(*t), where);
    rt_write(out, sizeof(*out), where);
    return CALL(localtime_r)(t, out);
}

LIBC(struct tm *, gmtime_r, (const time_t *t, struct tm *out), (t, out))
{
    rt_read(t, sizeof(*t), where);
    rt_write(out, sizeof(*out), where);
    return CALL(gmtime_r)(t, out);
}

LIBC(char *, ctime_r, (const time_t *t, char *out), (t, out))
{
    char *r;

    rt_read(t, sizeof(*t), where);
    r = CALL(ctime_r)(t, out);
    write_string(r, where);
    return r;
}

LIBC(char *, asctime_r, (const struct tm *t, char *out), (t, out))
{
    char *r;

    rt_read(t, sizeof(*t), where);
    r = CALL(asctime_r)(t, out);
    write_string(r, where);
    return r;
}

LIBC(time_t, mktime, (struct tm * t), (t))
{
    rt_read(t, sizeof(*t), where);
    rt_write(t, sizeof(*t), where);
    return CALL(mktime)(t);
}

LIBC(size_t, strftime, (char *out, size_t room, const char *fmt, const struct tm *t),
     (out, room, fmt, t))
{
    size_t n;

    read_string(fmt, where);
    rt_read(t, sizeof(*t), where);
    n = CALL(strftime)(out, room, fmt, t);
    if (n)
        rt_write(out, n + 1, where);
    return n;
}

/* ---- files ---- */

#define STAT(name, params, args)                                                                   \
    LIBC(int, name, params, args)                                                                  \
    {                                                                                              \
        int r;                                                                                     \
                                                                                                   \
        read_string(path, where);                                                                  \
        r = CALL(name) args;                                                                       \
        fd_name_seen(path, where);                                                                 \
        if (r == 0)                                                                                \
            rt_write(out, sizeof(*out), where);                                                    \
        return r;                                                                                  \
    }

STAT(stat, (const char *path, struct stat *out), (path, out))
STAT(lstat, (const char *path, struct stat *out), (path, out))
STAT(stat64, (const char *path, struct stat64 *out), (path, out))
STAT(lstat64, (const char *path, struct stat64 *out), (path, out))
STAT(fstatat, (int dir, const char *path, struct stat *out, int flags), (dir, path, out, flags))
STAT(fstatat64, (int dir, const char *path, struct stat64 *out, int flags), (dir, path, out, flags))
FILLS(fstat, out, (int fd, struct stat *out), (fd, out))
FILLS(fstat64, out, (int fd, struct stat64 *out), (fd, out))

STAT(statvfs, (const char *path, struct statvfs *out), (path, out))
STAT(statvfs64, (const char *path, struct statvfs64 *out), (path, out))
STAT(statfs, (const char *path, struct statfs *out), (path, out))
STAT(statfs64, (const char *path, struct statfs64 *out), (path, out))
FILLS(fstatvfs, out, (int fd, struct statvfs *out), (fd, out))
FILLS(fstatvfs64, out, (int fd, struct statvfs64 *out), (fd, out))
FILLS(fstatfs, out, (int fd, struct statfs *out), (fd, out))
FILLS(fstatfs64, out, (int fd, struct statfs64 *out), (fd, out))

/* A template's six X become a name. */
static inline void fill_template(const char *t, bool made, uint64_t where)
{
    size_t n;

    if (made && rt_recording() && (n = CALL(strlen)(t)) >= 6)
        rt_write(t + n - 6, 6, where);
}

#define MAKES(type, name, good, params, args)                                                      \
    LIBC(type, name, params, args)                                                                 \
    {                                                                                              \
        type r;                                                                                    \
                                                                                                   \
        read_string(template, where);                                                              \
        r = CALL(name) args;                                                                       \
        fill_template(template, good, where);                                                      \
        return r;                                                                                  \
    }

MAKES(int, mkstemp, r >= 0, (char *template), (template))
MAKES(int, mkstemp64, r >= 0, (char *template), (template))
MAKES(int, mkostemp, r >= 0, (char *template, int flags), (template, flags))
MAKES(int, mkostemp64, r >= 0, (char *template, int flags), (template, flags))
MAKES(char *, mkdtemp, r != NULL, (char *template), (template))

LIBC(int, access, (const char *path, int mode), (path, mode))
{
    int r;

    read_string(path, where);
    r = CALL(access)(path, mode);
    fd_name_seen(path, where);
    return r;
}

/* They change a name, and also tell whether it was there. */
#define CHANGES(name, params, args)                                                                \
    LIBC(int, name, params, args)                                                                  \
    {                                                                                              \
        int r;                                                                                     \
                                                                                                   \
        read_string(path, where);                                                                  \
        fd_name_changes(path, where);                                                              \
        r = CALL(name) args;                                                                       \
        fd_name_seen(path, where);                                                                 \
        return r;                                                                                  \
    }

CHANGES(unlink, (const char *path), (path))
CHANGES(remove, (const char *path), (path))
CHANGES(rmdir, (const char *path), (path))
CHANGES(mkdir, (const char *path, mode_t mode), (path, mode))

LIBC(int, rename, (const char *from, const char *to), (from, to))
{
    int r;

    read_string(from, where);
    read_string(to, where);
    fd_name_changes(from, where);
    fd_name_changes(to, where);
    r = CALL(rename)(from, to);
    fd_name_seen(from, where);
    return r;
}

static int open_file(int (*open_it)(const char *, int, ...), const char *path, int flags,
                     va_list *rest, uint64_t where)
{
    bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = makes ? va_arg(*rest, mode_t) : 0;
    int fd;

    read_string(path, where);
    if (makes)
        fd_name_changes(path, where);
    fd = open_it(path, flags, mode);
    fd_name_seen(path, where);
    return fd;
}

VLIBC(int, open, (const char *path, int flags), flags,
      open_file(CALL(open), path, flags, &ap, where))
VLIBC(int, open64, (const char *path, int flags), flags,
      open_file(CALL(open64), path, flags, &ap, where))

/* ---- names: buffers that get a string ---- */

LIBC(char *, getcwd, (char *p, size_t n), (p, n))
{
    char *r = CALL(getcwd)(p, n);

    write_string(r, where);
    return r;
}

LIBC(char *, __getcwd_chk, (char *p, size_t n, size_t room), (p, n, room))
{
    char *r = CALL(__getcwd_chk)(p, n, room);

    write_string(r, where);
    return r;
}

LIBC(char *, realpath, (const char *path, char *p), (path, p))
{
    char *r;

    read_string(path, where);
    r = CALL(realpath)(path, p);
    write_string(r, where);
    return r;
}

LIBC(char *, __realpath_chk, (const char *path, char *p, size_t room), (path, p, room))
{
    char *r;

    read_string(path, where);
    r = CALL(__realpath_chk)(path, p, room);
    write_string(r, where);
    return r;
}

LIBC(ssize_t, readlink, (const char *path, char *p, size_t n), (path, p, n))
{
    ssize_t r;

    read_string(path, where);
    r = CALL(readlink)(path, p, n);
    if (r > 0)
        rt_write(p, (size_t)r, where);
    return r;
}

LIBC(ssize_t, __readlink_chk, (const char *path, char *p, size_t n, size_t room),
     (path, p, n, room))
{
    ssize_t r;

    read_string(path, where);
    r = CALL(__readlink_chk)(path, p, n, room);
    if (r > 0)
        rt_write(p, (size_t)r, where);
    return r;
}

static inline int wrote_name(int r, const char *p, size_t n, uint64_t where)
{
    size_t length;

    if (r == 0 && n && rt_recording()) {
        length = CALL(strnlen)(p, n);
        rt_write(p, length < n ? length + 1 : n, where);
    }
    return r;
}

LIBC(int, gethostname, (char *p, size_t n), (p, n))
{
    return wrote_name(CALL(gethostname)(p, n), p, n, where);
}

LIBC(int, __gethostname_chk, (char *p, size_t n, size_t room), (p, n, room))
{
    return wrote_name(CALL(__gethostname_chk)(p, n, room), p, n, where);
}

FILLS(uname, out, (struct utsname * out), (out))

/* ---- processes ---- */

/* With _GNU_SOURCE the first parameter is an enum; the symbol takes an int. */
FILLS(getrusage, out, (__rusage_who_t who, struct rusage *out), (who, out))
FILLS(getrlimit, out, (__rlimit_resource_t which, struct rlimit *out), (which, out))
FILLS(getrlimit64, out, (__rlimit_resource_t which, struct rlimit64 *out), (which, out))

LIBC(pid_t, wait, (int *status), (status))
{
    pid_t r = CALL(wait)(status);

    if (r > 0)
        write_if(status, sizeof(*status), where);
    return r;
}

LIBC(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
{
    pid_t r = CALL(waitpid)(pid, status, flags);

    if (r > 0)
        write_if(status, sizeof(*status), where);
    return r;
}

LIBC(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *used),
     (pid, status, flags, used))
{
    pid_t r = CALL(wait4)(pid, status, flags, used);

    if (r > 0) {
        write_if(status, sizeof(*status), where);
        write_if(used, sizeof(*used), where);
    }
    return r;
}

FILLS(getitimer, out, (__itimer_which_t which, struct itimerval *out), (which, out))

LIBC(int, sched_getaffinity, (pid_t pid, size_t bytes, cpu_set_t *set), (pid, bytes, set))
{
    int r = CALL(sched_getaffinity)(pid, bytes, set);

    if (r == 0)
        rt_write(set, bytes, where);
    return r;
}

LIBC(int, getloadavg, (double *loads, int n), (loads, n))
{
    int r = CALL(getloadavg)(loads, n);

    if (r > 0)
        rt_write(loads, (size_t)r * sizeof(*loads), where);
    return r;
}

LIBC(int, dladdr, (const void *address, Dl_info *out), (address, out))
{
    int r = CALL(dladdr)(address, out);

    if (r)
        rt_write(out, sizeof(*out), where);
    return r;
}

/* ---- options ---- */

/* glibc's state is its own; it goes by these, and writes them in each call. */
static inline void write_options(uint64_t where)
{
    rt_wrote(&optind, sizeof(optind), where);
    rt_wrote(&optarg, sizeof(optarg), where);
    rt_wrote(&optopt, sizeof(optopt), where);
}

static inline void read_options(uint64_t where)
{
    rt_read(&optind, sizeof(optind), where);
    rt_read(&opterr, sizeof(opterr), where);
}

LIBC(int, getopt, (int argc, char *const *argv, const char *letters), (argc, argv, letters))
{
    int r;

    read_options(where);
    r = CALL(getopt)(argc, argv, letters);
    write_options(where);
    return r;
}

/* A long option writes its index, and what its `flag` points to. */
static inline void write_option(int r, const struct option *o, int at, int *index, uint64_t where)
{
    if (at < 0)
        return;
    if (index) {
        *index = at;
        rt_write(index, sizeof(*index), where);
    }
    if (r == 0)
        write_if(o[at].flag, sizeof(int), where);
}

#define GETS_OPTION(name)                                                                          \
    LIBC(int, name,                                                                                \
         (int argc, char *const *argv, const char *letters, const struct option *o, int *index),   \
         (argc, argv, letters, o, index))                                                          \
    {                                                                                              \
        int at = -1, r;                                                                            \
                                                                                                   \
        read_options(where);                                                                       \
        r = CALL(name)(argc, argv, letters, o, &at);                                               \
        write_options(where);                                                                      \
        write_option(r, o, at, index, where);                                                      \
        return r;                                                                                  \
    }

GETS_OPTION(getopt_long)
GETS_OPTION(getopt_long_only)

/* ---- character sets ---- */

/* Without a buffer to read, it goes back to the state at the beginning. */
LIBC(size_t, iconv,
     (iconv_t state, char **restrict in, size_t *restrict in_left, char **restrict out,
      size_t *restrict out_left),
     (state, in, in_left, out, out_left))
{
    char *from = in ? *in : NULL, *to = out ? *out : NULL;
    size_t r;

    rt_write(state, 8, where);
    if (from) {
        rt_read(in, sizeof(*in), where);
        rt_read(in_left, sizeof(*in_left), where);
    }
    if (to) {
        rt_read(out, sizeof(*out), where);
        rt_read(out_left, sizeof(*out_left), where);
    }
    r = CALL(iconv)(state, in, in_left, out, out_left);
    if (from) {
        rt_read(from, (size_t)(*in - from), where);
        rt_wrote(in, sizeof(*in), where);
        rt_wrote(in_left, sizeof(*in_left), where);
    }
    if (to) {
        rt_write(to, (size_t)(*out - to), where);
        rt_wrote(out, sizeof(*out), where);
        rt_wrote(out_left, sizeof(*out_left), where);
    }
    return r;
}
