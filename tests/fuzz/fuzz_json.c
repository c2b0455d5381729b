/* fuzz_json.c - libFuzzer target for result files: what is accepted is a fixed point of
 * reading and writing, and every renderer can show it */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int read_result(struct findings *f, const void *data, size_t len)
{
    struct error err;
    FILE *in = fmemopen((void *)data, len, "r");
    int r;

    if (!in)
        abort();
    r = json_read(f, in, &err);
    fclose(in);
    return r;
}

static char *write_result(const struct findings *f, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    json_write(f, out);
    fclose(out);
    return text;
}

static void show(struct findings *f)
{
    struct explain_options options = { .full = true, .no_steps = "fuzzing" };
    struct steps steps;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    text_report(f, true, out);
    steps_init(&steps, f);
    for (size_t i = 0; i < f->count; i++)
        text_explain(f, &f->races[i], &steps, &options, out);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        text_explain_deadlock(f, &f->deadlocks[i], &steps, &options, out);
    steps_release(&steps);
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct findings first = { 0 }, second = { 0 };
    size_t once_len, twice_len;
    char *once, *twice;

    if (len == 0 || read_result(&first, data, len) < 0)
        return 0;
    once = write_result(&first, &once_len);
    if (read_result(&second, once, once_len) < 0)
        abort();
    twice = write_result(&second, &twice_len);
    if (once_len != twice_len || memcmp(once, twice, once_len))
        abort();
    show(&second);
    free(once);
    free(twice);
    findings_release(&first);
    findings_release(&second);
    return 0;
}
