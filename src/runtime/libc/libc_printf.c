/* libc_printf.c - the printf family: strings read, destinations written
 *
 * "%s" reads the string, with a precision no further than that. "%n" writes.
 */
#include "runtime/libc/libc_format.h"
#include "runtime/interpose/stdio_edges.h"

static void printf_conversion(const struct conversion *c, struct format *f)
{
    struct format_argument a = { FORMAT_NONE, 0, -1, -1 };

    switch (c->letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'b':
    case 'B':
        a.type =
            c->length == 'l' || c->length == 'L' || c->length == 'j' ? FORMAT_LONG : FORMAT_INT;
        break;
    case 'c':
    case 'C':
        a.type = FORMAT_INT;
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        a.type = c->length == 'L' ? FORMAT_LONG_DOUBLE : FORMAT_DOUBLE;
        break;
    case 'p':
        a.type = FORMAT_POINTER;
        break;
    case 's':
    case 'S':
        a.type = c->length == 'l' || c->letter == 'S' ? FORMAT_WIDE_STRING : FORMAT_STRING;
        a.bytes = c->precision;
        a.limit_at = (int16_t)c->precision_at;
        break;
    case 'n':
        a.type = FORMAT_COUNT;
        a.bytes = format_integer_bytes(c->length);
        break;
    default: /* %m, %% and what nobody knows take no argument */
        return;
    }
    format_add(f, c->position, a);
}

static void printf_parse(const char *fmt, struct format *f)
{
    struct conversion c;

    f->n = 0;
    while ((fmt = CALL(strchr)(fmt, '%'))) {
        fmt = conversion_parse(fmt + 1, &c, f, false);
        printf_conversion(&c, f);
    }
}

/* Wide strings: `limit` counts bytes of output, of which a character gives at least one. */
static void read_wide(const wchar_t *s, int limit, uint64_t where)
{
    size_t n = 0, most = limit < 0 ? SIZE_MAX : (size_t)limit;

    while (n < most && s[n])
        n++;
    rt_read(s, (n < most ? n + 1 : n) * sizeof(*s), where);
}

/* Walk the arguments; integers are kept, for precisions among them. */
static void printf_record(const struct format *f, va_list ap, uint64_t where)
{
    const void *pointer[FORMAT_ARGUMENTS];
    int number[FORMAT_ARGUMENTS], limit;
    unsigned i;

    for (i = 0; i < f->n; i++) {
        number[i] = -1;
        switch (f->arg[i].type) {
        case FORMAT_NONE:
        case FORMAT_INT:
            number[i] = va_arg(ap, int);
            break;
        case FORMAT_LONG:
            (void)va_arg(ap, long);
            break;
        case FORMAT_DOUBLE:
            (void)va_arg(ap, double);
            break;
        case FORMAT_LONG_DOUBLE:
            (void)va_arg(ap, long double);
            break;
        default:
            pointer[i] = va_arg(ap, void *);
        }
    }
    for (i = 0; i < f->n; i++) {
        const struct format_argument *a = &f->arg[i];

        limit = a->limit_at >= 0 && (unsigned)a->limit_at < f->n ? number[a->limit_at] : a->bytes;
        if (a->type == FORMAT_STRING && limit < 0)
            read_string(pointer[i], where);
        else if (a->type == FORMAT_STRING)
            read_string_up_to(pointer[i], (size_t)limit, where);
        else if (a->type == FORMAT_WIDE_STRING && pointer[i])
            read_wide(pointer[i], limit, where);
        else if (a->type == FORMAT_COUNT && pointer[i])
            rt_write(pointer[i], (size_t)a->bytes, where);
    }
}

/* The format itself, and what it makes printf read. */
static void reads_for_format(const char *fmt, va_list ap, uint64_t where)
{
    struct format f;
    va_list copy;

    if (!fmt || !rt_recording())
        return;
    read_string(fmt, where);
    if (!CALL(strchr)(fmt, '%'))
        return;
    printf_parse(fmt, &f);
    va_copy(copy, ap);
    printf_record(&f, copy, where);
    va_end(copy);
}

static inline void prints_to(FILE *f, uint64_t where)
{
    rt_read(f, 1, where);
    if (stdio_may_flush(f, STDIO_UNKNOWN))
        stdio_release(f, where);
}

/* `r`: what snprintf returned, bytes without the NUL. */
static inline void printed_into(const char *d, size_t room, int r, uint64_t where)
{
    if (r >= 0 && room)
        rt_write(d, (size_t)r < room ? (size_t)r + 1 : room, where);
}

/* ---- with a va_list ---- */

LIBC(int, vfprintf, (FILE * f, const char *fmt, va_list ap), (f, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    prints_to(f, where);
    return CALL(vfprintf)(f, fmt, ap);
}

LIBC(int, __vfprintf_chk, (FILE * f, int flag, const char *fmt, va_list ap), (f, flag, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    prints_to(f, where);
    return CALL(__vfprintf_chk)(f, flag, fmt, ap);
}

LIBC(int, vprintf, (const char *fmt, va_list ap), (fmt, ap))
{
    return at_vfprintf(stdout, fmt, ap, where);
}

LIBC(int, __vprintf_chk, (int flag, const char *fmt, va_list ap), (flag, fmt, ap))
{
    return at___vfprintf_chk(stdout, flag, fmt, ap, where);
}

LIBC(int, vdprintf, (int fd, const char *fmt, va_list ap), (fd, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    fd_release(fd, where);
    return CALL(vdprintf)(fd, fmt, ap);
}

LIBC(int, __vdprintf_chk, (int fd, int flag, const char *fmt, va_list ap), (fd, flag, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    fd_release(fd, where);
    return CALL(__vdprintf_chk)(fd, flag, fmt, ap);
}

LIBC(int, vsprintf, (char *d, const char *fmt, va_list ap), (d, fmt, ap))
{
    int r;

    reads_for_format(fmt, ap, where);
    r = CALL(vsprintf)(d, fmt, ap);
    printed_into(d, SIZE_MAX, r, where);
    return r;
}

LIBC(int, __vsprintf_chk, (char *d, int flag, size_t room, const char *fmt, va_list ap),
     (d, flag, room, fmt, ap))
{
    int r;

    reads_for_format(fmt, ap, where);
    r = CALL(__vsprintf_chk)(d, flag, room, fmt, ap);
    printed_into(d, SIZE_MAX, r, where);
    return r;
}

LIBC(int, vsnprintf, (char *d, size_t n, const char *fmt, va_list ap), (d, n, fmt, ap))
{
    int r;

    reads_for_format(fmt, ap, where);
    r = CALL(vsnprintf)(d, n, fmt, ap);
    printed_into(d, n, r, where);
    return r;
}

LIBC(int, __vsnprintf_chk, (char *d, size_t n, int flag, size_t room, const char *fmt, va_list ap),
     (d, n, flag, room, fmt, ap))
{
    int r;

    reads_for_format(fmt, ap, where);
    r = CALL(__vsnprintf_chk)(d, n, flag, room, fmt, ap);
    printed_into(d, n, r, where);
    return r;
}

/* A new string, and the pointer to it. */
static inline int prints_new(char **d, int r, uint64_t where)
{
    hint_drop();
    rt_write(d, sizeof(*d), where);
    if (r >= 0)
        rt_write(*d, (size_t)r + 1, where);
    return r;
}

LIBC(int, vasprintf, (char **d, const char *fmt, va_list ap), (d, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    hint_give(where);
    return prints_new(d, CALL(vasprintf)(d, fmt, ap), where);
}

LIBC(int, __vasprintf_chk, (char **d, int flag, const char *fmt, va_list ap), (d, flag, fmt, ap))
{
    reads_for_format(fmt, ap, where);
    hint_give(where);
    return prints_new(d, CALL(__vasprintf_chk)(d, flag, fmt, ap), where);
}

/* ---- with arguments ---- */

VLIBC(int, printf, (const char *fmt), fmt, at_vprintf(fmt, ap, where))
VLIBC(int, fprintf, (FILE * f, const char *fmt), fmt, at_vfprintf(f, fmt, ap, where))
VLIBC(int, dprintf, (int fd, const char *fmt), fmt, at_vdprintf(fd, fmt, ap, where))
VLIBC(int, sprintf, (char *d, const char *fmt), fmt, at_vsprintf(d, fmt, ap, where))
VLIBC(int, snprintf, (char *d, size_t n, const char *fmt), fmt, at_vsnprintf(d, n, fmt, ap, where))
VLIBC(int, asprintf, (char **d, const char *fmt), fmt, at_vasprintf(d, fmt, ap, where))
VLIBC(int, __printf_chk, (int flag, const char *fmt), fmt, at___vprintf_chk(flag, fmt, ap, where))
VLIBC(int, __fprintf_chk, (FILE * f, int flag, const char *fmt), fmt,
      at___vfprintf_chk(f, flag, fmt, ap, where))
VLIBC(int, __dprintf_chk, (int fd, int flag, const char *fmt), fmt,
      at___vdprintf_chk(fd, flag, fmt, ap, where))
VLIBC(int, __sprintf_chk, (char *d, int flag, size_t room, const char *fmt), fmt,
      at___vsprintf_chk(d, flag, room, fmt, ap, where))
VLIBC(int, __snprintf_chk, (char *d, size_t n, int flag, size_t room, const char *fmt), fmt,
      at___vsnprintf_chk(d, n, flag, room, fmt, ap, where))
VLIBC(int, __asprintf_chk, (char **d, int flag, const char *fmt), fmt,
      at___vasprintf_chk(d, flag, fmt, ap, where))
