/* caper_source.c - which file the static pairs of a state were read from (docs/format/caper.md)
 *
 * STATE.static is one line: the id of the pairs, then device, inode, bytes and time of the last
 * change of the file, all as hexadecimal numbers. A file that changed within SETTLE_S is not noted:
 * it could change once more without a new time.
 */
#include "cmd/production/caper_source.h"
#include "base/alloc.h"
#include "base/tempfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_S = 2, LINE_BYTES = 128 };

/* What the line must be; false: there is no such file. */
static bool describe(const char *file, uint64_t pairs_id, char line[LINE_BYTES], time_t *changed)
{
    struct stat st;

    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    *changed = st.st_ctim.tv_sec;
    snprintf(line, LINE_BYTES,
             "%016" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 ".%09ld\n", pairs_id,
             (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
             (uint64_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    return true;
}

bool caper_source_is(const char *state, const char *file, uint64_t pairs_id)
{
    char *path = xasprintf("%s.static", state), now[LINE_BYTES], then[LINE_BYTES] = "";
    FILE *f = fopen(path, "re");
    time_t changed;
    bool same = f && fgets(then, sizeof(then), f) && describe(file, pairs_id, now, &changed) &&
                strcmp(now, then) == 0;

    if (f)
        fclose(f);
    free(path);
    return same;
}

void caper_source_keep(const char *state, const char *file, uint64_t pairs_id)
{
    char *path = xasprintf("%s.static", state), *fresh, line[LINE_BYTES];
    time_t changed;
    FILE *f;

    fresh = xasprintf("%s-%d", path, (int)getpid());
    if (describe(file, pairs_id, line, &changed) && changed + SETTLE_S < time(NULL) &&
        (f = private_fopen(fresh))) {
        bool written = fputs(line, f) >= 0;

        if (fclose(f) != 0 || !written || rename(fresh, path) < 0)
            unlink(fresh);
    }
    free(fresh);
    free(path);
}
