/* libc_string.c - functions on strings
 *
 * Lengths are taken before the call, and only while recording: what the
 * function is about to do is done once more, on the same bytes.
 */
#include "runtime/libc/libc.h"

/* Recorded as one read of the source and one write of the destination, each with its NUL. */
static inline void copies_string(char *d, const char *s, uint64_t where)
{
    size_t n;

    if (rt_recording()) {
        n = CALL(strlen)(s) + 1;
        rt_read(s, n, where);
        rt_write(d, n, where);
    }
}

/* strncpy fills up to n bytes. */
static inline void copies_up_to(char *d, const char *s, size_t n, uint64_t where)
{
    read_string_up_to(s, n, where);
    rt_write(d, n, where);
}

static inline void appends(char *d, const char *s, size_t most, uint64_t where)
{
    size_t have, more;

    if (!rt_recording())
        return;
    have = CALL(strlen)(d);
    more = CALL(strnlen)(s, most);
    rt_read(d, have + 1, where);
    rt_read(s, more < most ? more + 1 : more, where);
    rt_write(d + have, more + 1, where);
}

LIBC(size_t, strlen, (const char *s), (s))
{
    size_t n = CALL(strlen)(s);

    rt_read(s, n + 1, where);
    return n;
}

LIBC(size_t, strnlen, (const char *s, size_t most), (s, most))
{
    size_t n = CALL(strnlen)(s, most);

    rt_read(s, n < most ? n + 1 : n, where);
    return n;
}

LIBC(char *, strcpy, (char *d, const char *s), (d, s))
{
    copies_string(d, s, where);
    return CALL(strcpy)(d, s);
}

LIBC(char *, stpcpy, (char *d, const char *s), (d, s))
{
    copies_string(d, s, where);
    return CALL(stpcpy)(d, s);
}

LIBC(char *, __stpcpy, (char *d, const char *s), (d, s))
{
    copies_string(d, s, where);
    return CALL(stpcpy)(d, s);
}

LIBC(char *, strncpy, (char *d, const char *s, size_t n), (d, s, n))
{
    copies_up_to(d, s, n, where);
    return CALL(strncpy)(d, s, n);
}

LIBC(char *, stpncpy, (char *d, const char *s, size_t n), (d, s, n))
{
    copies_up_to(d, s, n, where);
    return CALL(stpncpy)(d, s, n);
}

LIBC(char *, strcat, (char *d, const char *s), (d, s))
{
    appends(d, s, SIZE_MAX, where);
    return CALL(strcat)(d, s);
}

LIBC(char *, strncat, (char *d, const char *s, size_t n), (d, s, n))
{
    appends(d, s, n, where);
    return CALL(strncat)(d, s, n);
}

/* ---- comparing: up to the first difference, or the end ---- */

static inline void compares_strings(const char *a, const char *b, size_t most, bool fold,
                                    uint64_t where)
{
    size_t i = 0;

    if (!most || !rt_recording())
        return;
    while (i + 1 < most && a[i] &&
           (a[i] == b[i] || (fold && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i]))))
        i++;
    rt_read(a, i + 1, where);
    rt_read(b, i + 1, where);
}

LIBC(int, strcmp, (const char *a, const char *b), (a, b))
{
    compares_strings(a, b, SIZE_MAX, false, where);
    return CALL(strcmp)(a, b);
}

LIBC(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n))
{
    compares_strings(a, b, n, false, where);
    return CALL(strncmp)(a, b, n);
}

LIBC(int, strcasecmp, (const char *a, const char *b), (a, b))
{
    compares_strings(a, b, SIZE_MAX, true, where);
    return CALL(strcasecmp)(a, b);
}

LIBC(int, strncasecmp, (const char *a, const char *b, size_t n), (a, b, n))
{
    compares_strings(a, b, n, true, where);
    return CALL(strncasecmp)(a, b, n);
}

LIBC(int, strcoll, (const char *a, const char *b), (a, b))
{
    read_string(a, where);
    read_string(b, where);
    return CALL(strcoll)(a, b);
}

/* ---- searching: up to what was found, or the end ---- */

static inline char *reads_to(const char *s, char *found, size_t behind, uint64_t where)
{
    if (found)
        rt_read(s, (size_t)(found - s) + behind, where);
    else
        read_string(s, where);
    return found;
}

LIBC(char *, strchr, (const char *s, int c), (s, c))
{
    return reads_to(s, CALL(strchr)(s, c), 1, where);
}

LIBC(char *, index, (const char *s, int c), (s, c))
{
    return reads_to(s, CALL(strchr)(s, c), 1, where);
}

LIBC(char *, strchrnul, (const char *s, int c), (s, c))
{
    return reads_to(s, CALL(strchrnul)(s, c), 1, where);
}

LIBC(char *, strrchr, (const char *s, int c), (s, c))
{
    read_string(s, where);
    return CALL(strrchr)(s, c);
}

LIBC(char *, rindex, (const char *s, int c), (s, c))
{
    read_string(s, where);
    return CALL(strrchr)(s, c);
}

LIBC(char *, strstr, (const char *s, const char *needle), (s, needle))
{
    read_string(needle, where);
    return reads_to(s, CALL(strstr)(s, needle), CALL(strlen)(needle), where);
}

LIBC(char *, strcasestr, (const char *s, const char *needle), (s, needle))
{
    read_string(needle, where);
    return reads_to(s, CALL(strcasestr)(s, needle), CALL(strlen)(needle), where);
}

LIBC(size_t, strspn, (const char *s, const char *set), (s, set))
{
    size_t n = CALL(strspn)(s, set);

    read_string(set, where);
    rt_read(s, n + 1, where);
    return n;
}

LIBC(size_t, strcspn, (const char *s, const char *set), (s, set))
{
    size_t n = CALL(strcspn)(s, set);

    read_string(set, where);
    rt_read(s, n + 1, where);
    return n;
}

LIBC(char *, strpbrk, (const char *s, const char *set), (s, set))
{
    read_string(set, where);
    return reads_to(s, CALL(strpbrk)(s, set), 1, where);
}

/* ---- copies on the heap: malloc's interposer records the allocation ---- */

LIBC(char *, strdup, (const char *s), (s))
{
    char *copy;

    read_string(s, where);
    hint_give(where);
    copy = CALL(strdup)(s);
    hint_drop();
    write_string(copy, where);
    return copy;
}

LIBC(char *, __strdup, (const char *s), (s))
{
    return at_strdup(s, where);
}

LIBC(char *, strndup, (const char *s, size_t n), (s, n))
{
    char *copy;

    read_string_up_to(s, n, where);
    hint_give(where);
    copy = CALL(strndup)(s, n);
    hint_drop();
    write_string(copy, where);
    return copy;
}

/* ---- cutting into words ---- */

/* The state between calls of strtok, glibc's own being out of reach: strtok is strtok_r on it. */
#ifdef LIBC_NAMES
extern EXPORT char *__heddle_hidden_strtok;
#else
EXPORT char *__heddle_hidden_strtok;
#endif

/* The word that begins at s, and the NUL that ends it. */
static inline void cuts_word(const char *s, const char *set, uint64_t where)
{
    size_t n;

    if (!s || !rt_recording())
        return;
    n = CALL(strspn)(s, set);
    n += CALL(strcspn)(s + n, set);
    rt_read(s, n + 1, where);
    if (s[n])
        rt_write(s + n, 1, where);
}

LIBC(char *, strtok_r, (char *s, const char *set, char **state), (s, set, state))
{
    read_string(set, where);
    if (!s)
        rt_read(state, sizeof(*state), where);
    cuts_word(s ? s : *state, set, where);
    rt_write(state, sizeof(*state), where);
    return CALL(strtok_r)(s, set, state);
}

LIBC(char *, __strtok_r, (char *s, const char *set, char **state), (s, set, state))
{
    return at_strtok_r(s, set, state, where);
}

LIBC(char *, strtok, (char *s, const char *set), (s, set))
{
    return at_strtok_r(s, set, &__heddle_hidden_strtok, where);
}

LIBC(char *, strsep, (char **s, const char *set), (s, set))
{
    size_t n;

    rt_read(s, sizeof(*s), where);
    if (*s && rt_recording()) {
        n = CALL(strcspn)(*s, set);
        rt_read(*s, n + 1, where);
        if ((*s)[n])
            rt_write(*s + n, 1, where);
        rt_write(s, sizeof(*s), where);
        read_string(set, where);
    }
    return CALL(strsep)(s, set);
}

/* Is it this token? Read as far as they agree. */
static bool read_token(const char *token, const char *name, size_t n, uint64_t where)
{
    size_t same = 0;

    while (same < n && token[same] == name[same])
        same++;
    rt_read(token, same + 1, where);
    return same == n && !token[n];
}

LIBC(int, getsubopt, (char **option, char *const *tokens, char **value), (option, tokens, value))
{
    rt_read(option, sizeof(*option), where);
    if (rt_recording() && **option) {
        size_t n = CALL(strcspn)(*option, ","), name = CALL(strcspn)(*option, ",=");
        size_t i = 0;

        while (tokens[i] && !read_token(tokens[i], *option, name, where))
            i++;
        rt_read(tokens, (i + 1) * sizeof(*tokens), where);
        rt_read(*option, n + 1, where);
        if ((*option)[n])
            rt_write(*option + n, 1, where);
        rt_write(option, sizeof(*option), where);
        rt_write(value, sizeof(*value), where);
    }
    return CALL(getsubopt)(option, tokens, value);
}

/* ---- fortified ---- */

LIBC(char *, __strcpy_chk, (char *d, const char *s, size_t room), (d, s, room))
{
    copies_string(d, s, where);
    return CALL(__strcpy_chk)(d, s, room);
}

LIBC(char *, __stpcpy_chk, (char *d, const char *s, size_t room), (d, s, room))
{
    copies_string(d, s, where);
    return CALL(__stpcpy_chk)(d, s, room);
}

LIBC(char *, __strncpy_chk, (char *d, const char *s, size_t n, size_t room), (d, s, n, room))
{
    if (n <= room)
        copies_up_to(d, s, n, where);
    return CALL(__strncpy_chk)(d, s, n, room);
}

LIBC(char *, __stpncpy_chk, (char *d, const char *s, size_t n, size_t room), (d, s, n, room))
{
    if (n <= room)
        copies_up_to(d, s, n, where);
    return CALL(__stpncpy_chk)(d, s, n, room);
}

LIBC(char *, __strcat_chk, (char *d, const char *s, size_t room), (d, s, room))
{
    appends(d, s, SIZE_MAX, where);
    return CALL(__strcat_chk)(d, s, room);
}

LIBC(char *, __strncat_chk, (char *d, const char *s, size_t n, size_t room), (d, s, n, room))
{
    appends(d, s, n, where);
    return CALL(__strncat_chk)(d, s, n, room);
}

/* ---- errors as text ---- */

/* GNU's: the buffer is used only for numbers without a text of their own. */
LIBC(char *, strerror_r, (int error, char *buffer, size_t n), (error, buffer, n))
{
    char *text = CALL(strerror_r)(error, buffer, n);

    if (n && text == buffer)
        rt_write(buffer, strlen(buffer) + 1, where);
    return text;
}

/* POSIX's. */
LIBC(int, __xpg_strerror_r, (int error, char *buffer, size_t n), (error, buffer, n))
{
    int r = CALL(__xpg_strerror_r)(error, buffer, n);

    if (n)
        rt_write(buffer, strlen(buffer) + 1, where);
    return r;
}
