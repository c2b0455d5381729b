/* libc_stdio.c - reading and writing through FILE
 *
 * Recorded are the caller's buffers, a read of the FILE itself (an fclose in
 * another thread frees it), and the edges of the file below where the stream's
 * buffer is filled or may be emptied (stdio_edges.h). glibc locks the FILE inside:
 * its own state is not racy.
 */
#include "runtime/libc/libc.h"
#include "runtime/interpose/stdio_edges.h"

/* Before data goes into a stream, and after it came out of one. */
static inline void uses_for_output(FILE *f, size_t bytes, uint64_t where)
{
    rt_read(f, 1, where);
    if (stdio_may_flush(f, bytes))
        stdio_release(f, where);
}

static inline size_t uses_for_input(FILE *f, uint64_t where)
{
    rt_read(f, 1, where);
    return stdio_buffered(f);
}

static inline void has_got(FILE *f, size_t buffered, size_t bytes, uint64_t where)
{
    if (bytes == 0 || bytes > buffered)
        stdio_acquire(f, where);
}

/* ---- blocks ---- */

#define FREAD(name, params, args)                                                                  \
    LIBC(size_t, name, params, args)                                                               \
    {                                                                                              \
        size_t buffered = uses_for_input(f, where), got;                                           \
                                                                                                   \
        got = CALL(name) args;                                                                     \
        has_got(f, buffered, got *size, where);                                                    \
        rt_write(p, got *size, where);                                                             \
        return got;                                                                                \
    }

FREAD(fread, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
FREAD(fread_unlocked, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
FREAD(__fread_chk, (void *p, size_t room, size_t size, size_t n, FILE *f), (p, room, size, n, f))

LIBC(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
{
    rt_read(p, size * n, where);
    uses_for_output(f, size * n, where);
    return CALL(fwrite)(p, size, n, f);
}

LIBC(size_t, fwrite_unlocked, (const void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
{
    rt_read(p, size * n, where);
    uses_for_output(f, size * n, where);
    return CALL(fwrite_unlocked)(p, size, n, f);
}

/* ---- characters ---- */

LIBC(int, fgetc, (FILE * f), (f))
{
    size_t buffered = uses_for_input(f, where);
    int c = CALL(fgetc)(f);

    has_got(f, buffered, 1, where);
    return c;
}

LIBC(int, getc, (FILE * f), (f))
{
    return at_fgetc(f, where);
}

LIBC0(int, getchar)
{
    return at_fgetc(stdin, where);
}

/* ---- lines ---- */

#define FGETS(name, params, args)                                                                  \
    LIBC(char *, name, params, args)                                                               \
    {                                                                                              \
        size_t buffered = uses_for_input(f, where), got;                                           \
        char *line = CALL(name) args;                                                              \
                                                                                                   \
        got = line ? CALL(strlen)(line) : 0;                                                       \
        has_got(f, buffered, got, where);                                                          \
        if (line)                                                                                  \
            rt_write(line, got + 1, where);                                                        \
        return line;                                                                               \
    }

FGETS(fgets, (char *s, int n, FILE *f), (s, n, f))
FGETS(fgets_unlocked, (char *s, int n, FILE *f), (s, n, f))
FGETS(__fgets_chk, (char *s, size_t room, int n, FILE *f), (s, room, n, f))

LIBC(ssize_t, getdelim, (char **line, size_t *room, int delimiter, FILE *f),
     (line, room, delimiter, f))
{
    size_t buffered = uses_for_input(f, where);
    ssize_t got;

    rt_read(line, sizeof(*line), where);
    rt_read(room, sizeof(*room), where);
    hint_give(where);
    got = CALL(getdelim)(line, room, delimiter, f);
    hint_drop();
    has_got(f, buffered, got > 0 ? (size_t)got : 0, where);
    rt_write(line, sizeof(*line), where);
    rt_write(room, sizeof(*room), where);
    if (got > 0)
        rt_write(*line, (size_t)got + 1, where);
    return got;
}

LIBC(ssize_t, __getdelim, (char **line, size_t *room, int delimiter, FILE *f),
     (line, room, delimiter, f))
{
    return at_getdelim(line, room, delimiter, f, where);
}

LIBC(ssize_t, getline, (char **line, size_t *room, FILE *f), (line, room, f))
{
    return at_getdelim(line, room, '\n', f, where);
}

LIBC(int, fputs, (const char *s, FILE *f), (s, f))
{
    size_t n = CALL(strlen)(s);

    rt_read(s, n + 1, where);
    uses_for_output(f, n, where);
    return CALL(fputs)(s, f);
}

LIBC(int, fputs_unlocked, (const char *s, FILE *f), (s, f))
{
    size_t n = CALL(strlen)(s);

    rt_read(s, n + 1, where);
    uses_for_output(f, n, where);
    return CALL(fputs_unlocked)(s, f);
}

LIBC(int, puts, (const char *s), (s))
{
    size_t n = CALL(strlen)(s);

    rt_read(s, n + 1, where);
    uses_for_output(stdout, n + 1, where);
    return CALL(puts)(s);
}

LIBC(void, perror, (const char *s), (s))
{
    read_string(s, where);
    CALL(perror)(s);
}

/* ---- opening: stdio_edges.c interposes fclose and fflush ---- */

LIBC(FILE *, fopen, (const char *path, const char *mode), (path, mode))
{
    FILE *f;

    read_string(path, where);
    read_string(mode, where);
    if (mode && mode[0] != 'r')
        fd_name_changes(path, where);
    hint_give(where);
    f = CALL(fopen)(path, mode);
    hint_drop();
    fd_name_seen(path, where);
    return f;
}

LIBC(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
{
    FILE *f;

    read_string(path, where);
    read_string(mode, where);
    if (mode && mode[0] != 'r')
        fd_name_changes(path, where);
    hint_give(where);
    f = CALL(fopen64)(path, mode);
    hint_drop();
    fd_name_seen(path, where);
    return f;
}
