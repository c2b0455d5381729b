/* clean.c - recognise UTF-8 (RFC 3629) without control characters, escape the rest */
#include "report/clean.h"

#include <stdint.h>

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* Characters that change the order or the lines of the text around them (U+2028 to U+202E, U+2066
 * to U+2069), so that it reads as what it is not, and two that XML does not take (U+FFFE, U+FFFF).
 */
static bool is_deceptive(const unsigned char *s)
{
    if (s[0] == 0xe2 && s[1] == 0x80)
        return s[2] >= 0xa8 && s[2] <= 0xae;
    if (s[0] == 0xe2 && s[1] == 0x81)
        return s[2] >= 0xa6 && s[2] <= 0xa9;
    return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

/* Length of the clean character at s, 0 where there is none. Overlong forms, surrogates,
 * numbers above U+10FFFF and C1 controls (U+0080..U+009F) are not clean. */
static size_t clean_length(const unsigned char *s, size_t len)
{
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        return len >= 2 && is_tail(s[1]) && !(s[0] == 0xc2 && s[1] < 0xa0) ? 2 : 0;
    if (s[0] >= 0xe0 && s[0] <= 0xef) {
        if (len < 3 || !is_tail(s[1]) || !is_tail(s[2]))
            return 0;
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
            return 0;
        return is_deceptive(s) ? 0 : 3;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        if (len < 4 || !is_tail(s[1]) || !is_tail(s[2]) || !is_tail(s[3]))
            return 0;
        if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}

bool clean_is(const char *s, size_t len)
{
    for (size_t i = 0, n; i < len; i += n)
        if (!(n = clean_length((const unsigned char *)s + i, len - i)))
            return false;
    return true;
}

void clean_add(struct buf *b, const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = clean_length((const unsigned char *)s + i, len - i);

        if (n)
            buf_add(b, s + i, n);
        else
            buf_addf(b, "\\x%02x", (unsigned char)s[i]);
        i += n ? n : 1;
    }
}
