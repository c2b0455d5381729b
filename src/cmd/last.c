/* last.c - the option --last: how much of a recording's end is kept */
#include "cmd/last.h"
#include "cmd/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct last {
    uint64_t amount;
    bool is_time; /* milliseconds; else bytes */
};

static const struct unit {
    const char *name;
    uint64_t factor;
    bool is_time;
} units[] = {
    { "", 1, false },  { "k", 1000, false }, { "m", 1000000, false }, { "g", 1000000000, false },
    { "ms", 1, true }, { "s", 1000, true },  { "min", 60000, true },  { "h", 3600000, true },
};

static bool parse(const char *text, struct last *out)
{
    const uint64_t most = UINT64_C(1) << 53; /* nanoseconds of it still have room */
    uint64_t n;
    char *end;

    errno = 0;
    n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcasecmp(end, units[i].name) != 0)
            continue;
        *out = (struct last){ n * units[i].factor, units[i].is_time };
        return n <= most / units[i].factor &&
               out->amount >= (out->is_time ? LAST_MS_LEAST : LAST_BYTES_LEAST);
    }
    return false;
}

int last_check(const struct options *o)
{
    struct last last;

    if (!option_is(o, OPT_LAST) || parse(o->texts[OPT_LAST], &last))
        return 0;
    return usage_error(o->command,
                       "option '--last' takes a time (60s, 10min, 2h; at least 100ms) or a size "
                       "(500m, 2g; at least 65536), not '%s'",
                       o->texts[OPT_LAST]);
}

void last_add_options(const struct options *o, struct buf *b)
{
    struct last last;

    if (option_is(o, OPT_LAST) && parse(o->texts[OPT_LAST], &last))
        buf_addf(b, " --last-%s=%" PRIu64, last.is_time ? "ms" : "bytes", last.amount);
}
