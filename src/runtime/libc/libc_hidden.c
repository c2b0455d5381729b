/* libc_hidden.c - state inside libc that calls share
 *
 * Functions that POSIX does not promise to be thread-safe, and that glibc does not
 * make so: the call is a write (getenv: a read) of a variable here that stands
 * for the state, and is named after it, so that a report says "environ".
 * Where the result points to libc's own memory, that memory is written, too: the
 * program's reads of the result then meet the next call.
 */
#include "runtime/libc/libc_hidden.h"

STATE(localtime_result);
STATE(asctime_result);
STATE(environ);
STATE(locale);
STATE(drand48);

/* ---- broken-down time ---- */

#define TIME_STRUCT(name)                                                                          \
    LIBC(struct tm *, name, (const time_t *t), (t))                                                \
    {                                                                                              \
        struct tm *r;                                                                              \
                                                                                                   \
        rt_read(t, sizeof(*t), where);                                                             \
        WRITES_STATE(localtime_result);                                                            \
        r = CALL(name)(t);                                                                         \
        write_if(r, sizeof(*r), where);                                                            \
        return r;                                                                                  \
    }

TIME_STRUCT(localtime)
TIME_STRUCT(gmtime)

LIBC(char *, asctime, (const struct tm *t), (t))
{
    char *r;

    read_if(t, sizeof(*t), where);
    WRITES_STATE(asctime_result);
    r = CALL(asctime)(t);
    write_string(r, where);
    return r;
}

/* asctime(localtime(t)) */
LIBC(char *, ctime, (const time_t *t), (t))
{
    char *r;

    rt_read(t, sizeof(*t), where);
    WRITES_STATE(localtime_result);
    WRITES_STATE(asctime_result);
    r = CALL(ctime)(t);
    write_string(r, where);
    return r;
}

/* ---- environment ---- */

LIBC(char *, getenv, (const char *name), (name))
{
    read_string(name, where);
    READS_STATE(environ);
    return CALL(getenv)(name);
}

LIBC(char *, secure_getenv, (const char *name), (name))
{
    read_string(name, where);
    READS_STATE(environ);
    return CALL(secure_getenv)(name);
}

LIBC(int, setenv, (const char *name, const char *value, int replace), (name, value, replace))
{
    read_string(name, where);
    read_string(value, where);
    WRITES_STATE(environ);
    return CALL(setenv)(name, value, replace);
}

LIBC(int, putenv, (char *text), (text))
{
    read_string(text, where);
    WRITES_STATE(environ);
    return CALL(putenv)(text);
}

LIBC(int, unsetenv, (const char *name), (name))
{
    read_string(name, where);
    WRITES_STATE(environ);
    return CALL(unsetenv)(name);
}

/* ---- locale ---- */

LIBC(char *, setlocale, (int category, const char *name), (category, name))
{
    read_string(name, where);
    if (name)
        WRITES_STATE(locale);
    else
        READS_STATE(locale);
    return CALL(setlocale)(category, name);
}

/* ---- random numbers: rand and random lock, these do not ---- */

LIBC(void, srand48, (long seed), (seed))
{
    WRITES_STATE(drand48);
    CALL(srand48)(seed);
}

/* ---- directories: the stream is the state ---- */

LIBC(DIR *, opendir, (const char *path), (path))
{
    DIR *d;

    read_string(path, where);
    hint_give(where);
    d = CALL(opendir)(path);
    hint_drop();
    fd_name_seen(path, where);
    return d;
}

LIBC(struct dirent *, readdir, (DIR * d), (d))
{
    struct dirent *e;

    rt_write(d, 8, where);
    e = CALL(readdir)(d);
    if (e)
        rt_write(e, e->d_reclen, where);
    return e;
}

LIBC(struct dirent64 *, readdir64, (DIR * d), (d))
{
    struct dirent64 *e;

    rt_write(d, 8, where);
    e = CALL(readdir64)(d);
    if (e)
        rt_write(e, e->d_reclen, where);
    return e;
}

LIBC(void, rewinddir, (DIR * d), (d))
{
    rt_write(d, 8, where);
    CALL(rewinddir)(d);
}

/* ---- without parameters ---- */

LIBC0(int, clearenv)
{
    WRITES_STATE(environ);
    return CALL(clearenv)();
}

LIBC0(struct lconv *, localeconv)
{
    READS_STATE(locale);
    return CALL(localeconv)();
}

LIBC0(double, drand48)
{
    WRITES_STATE(drand48);
    return CALL(drand48)();
}

LIBC0(long, lrand48)
{
    WRITES_STATE(drand48);
    return CALL(lrand48)();
}

LIBC0(long, mrand48)
{
    WRITES_STATE(drand48);
    return CALL(mrand48)();
}
