/* fuzz_schedule.c - libFuzzer target for race.schedule: what is read is written, and read again the
 * same */
#include "report/race_schedule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char *written(const struct race_schedule *s, size_t *n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n);

    race_schedule_write(s, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct race_schedule s = { 0 }, again = { 0 };
    struct error err;
    char *first, *second;
    size_t n, m;

    if (race_schedule_parse(&s, (const char *)data, len, &err) < 0)
        return 0;
    first = written(&s, &n);
    if (race_schedule_parse(&again, first, n, &err) < 0)
        abort();
    second = written(&again, &m);
    if (n != m || memcmp(first, second, n) != 0)
        abort();
    free(first);
    free(second);
    race_schedule_release(&s);
    race_schedule_release(&again);
    return 0;
}
