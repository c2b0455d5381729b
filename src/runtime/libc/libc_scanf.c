/* libc_scanf.c - the scanf family: writes through the pointers of successful conversions
 *
 * The result says how many conversions were assigned; those after it left their
 * variables alone. "%n" is no conversion in this sense; it counts as done when
 * all before it, and none that failed, were done.
 */
#include "runtime/libc/libc_format.h"
#include "runtime/interpose/stdio_edges.h"

/* "[^]abc]": returns what follows the ']'. */
static const char *skip_set(const char *p)
{
    if (*p == '^')
        p++;
    if (*p == ']')
        p++;
    while (*p && *p != ']')
        p++;
    return *p ? p + 1 : p;
}

static int scanned_bytes(const struct conversion *c)
{
    switch (c->letter) {
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        return c->length == 'L' ? (int)sizeof(long double) : c->length == 'l' ? 8 : 4;
    case 'p':
        return sizeof(void *);
    default:
        return format_integer_bytes(c->length);
    }
}

static void scanf_conversion(const struct conversion *c, struct format *f)
{
    struct format_argument a = { FORMAT_VALUE, (uint8_t)f->converted, -1, -1 };
    bool wide = c->length == 'l' || c->letter == 'S' || c->letter == 'C';

    switch (c->letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'b':
    case 'p':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        a.bytes = scanned_bytes(c);
        break;
    case 's':
    case 'S':
    case '[':
        a.type = c->allocates ? FORMAT_NEW_STRING : wide ? FORMAT_WIDE_STRING : FORMAT_STRING;
        break;
    case 'c':
    case 'C':
        a.type = c->allocates ? FORMAT_POINTER : FORMAT_CHARACTERS;
        a.bytes = (c->width > 0 ? c->width : 1) * (wide ? (int)sizeof(wchar_t) : 1);
        break;
    case 'n':
        a.type = FORMAT_COUNT;
        a.bytes = format_integer_bytes(c->length);
        break;
    default:
        return;
    }
    if (c->suppressed)
        return;
    format_add(f, c->position, a);
    f->converted += c->letter != 'n';
}

static void scanf_parse(const char *fmt, struct format *f)
{
    struct conversion c;

    f->n = f->converted = 0;
    while (f->n < FORMAT_ARGUMENTS && (fmt = CALL(strchr)(fmt, '%'))) {
        fmt = conversion_parse(fmt + 1, &c, f, true);
        scanf_conversion(&c, f);
        if (c.letter == '[')
            fmt = skip_set(fmt);
    }
}

static void scanf_wrote(const struct format_argument *a, void *p, uint64_t where)
{
    switch (a->type) {
    case FORMAT_STRING:
        write_string(p, where);
        break;
    case FORMAT_WIDE_STRING:
        rt_write(p, (CALL(wcslen)(p) + 1) * sizeof(wchar_t), where);
        break;
    case FORMAT_NEW_STRING:
    case FORMAT_POINTER:
        rt_write(p, sizeof(void *), where);
        break;
    default:
        rt_write(p, (size_t)a->bytes, where);
    }
}

/* The arguments, taken before the call uses them up. */
struct scan {
    struct format f;
    void *pointer[FORMAT_ARGUMENTS];
};

static void scan_begin(struct scan *s, const char *fmt, va_list ap, uint64_t where)
{
    va_list copy;

    s->f.n = 0;
    if (!fmt || !rt_recording())
        return;
    read_string(fmt, where);
    scanf_parse(fmt, &s->f);
    va_copy(copy, ap);
    for (unsigned i = 0; i < s->f.n; i++)
        s->pointer[i] = va_arg(copy, void *);
    va_end(copy);
}

static int scan_end(const struct scan *s, int assigned, uint64_t where)
{
    for (unsigned i = 0; i < s->f.n; i++) {
        const struct format_argument *a = &s->f.arg[i];
        bool done = (int)a->order < assigned;

        if (a->type == FORMAT_COUNT)
            done |= assigned >= 0 && (unsigned)assigned == s->f.converted;
        if (done && a->type != FORMAT_NONE && s->pointer[i])
            scanf_wrote(a, s->pointer[i], where);
    }
    return assigned;
}

/* From a string, from a stream, from stdin; plain, C99 and C23 names. */
#define SCANF_STRING(name)                                                                         \
    LIBC(int, name, (const char *from, const char *fmt, va_list ap), (from, fmt, ap))              \
    {                                                                                              \
        struct scan s;                                                                             \
                                                                                                   \
        read_string(from, where);                                                                  \
        scan_begin(&s, fmt, ap, where);                                                            \
        return scan_end(&s, CALL(name)(from, fmt, ap), where);                                     \
    }
#define SCANF_FILE(name)                                                                           \
    LIBC(int, name, (FILE * from, const char *fmt, va_list ap), (from, fmt, ap))                   \
    {                                                                                              \
        size_t buffered = stdio_buffered(from);                                                    \
        struct scan s;                                                                             \
        int assigned;                                                                              \
                                                                                                   \
        rt_read(from, 1, where);                                                                   \
        scan_begin(&s, fmt, ap, where);                                                            \
        assigned = CALL(name)(from, fmt, ap);                                                      \
        if (stdio_buffered(from) >= buffered)                                                      \
            stdio_acquire(from, where);                                                            \
        return scan_end(&s, assigned, where);                                                      \
    }
#define SCANF_STDIN(name, of_file)                                                                 \
    LIBC(int, name, (const char *fmt, va_list ap), (fmt, ap))                                      \
    {                                                                                              \
        return at_##of_file(stdin, fmt, ap, where);                                                \
    }

#define SCANF_FAMILY(prefix)                                                                       \
    SCANF_STRING(prefix##vsscanf)                                                                  \
    SCANF_FILE(prefix##vfscanf)                                                                    \
    SCANF_STDIN(prefix##vscanf, prefix##vfscanf)                                                   \
    VLIBC(int, prefix##sscanf, (const char *from, const char *fmt), fmt,                           \
          at_##prefix##vsscanf(from, fmt, ap, where))                                              \
    VLIBC(int, prefix##fscanf, (FILE * from, const char *fmt), fmt,                                \
          at_##prefix##vfscanf(from, fmt, ap, where))                                              \
    VLIBC(int, prefix##scanf, (const char *fmt), fmt, at_##prefix##vscanf(fmt, ap, where))

#ifndef LIBC_NAMES /* headers turn these names into the C99 ones */
SCANF_FAMILY()
#endif
SCANF_FAMILY(__isoc99_)
SCANF_FAMILY(__isoc23_)
