/* diff.c - heddle diff: what is new in a result, what is gone
 *
 * Findings are the same when their ids are: functions, operations and variable,
 * not lines or addresses. An edit elsewhere in a file changes nothing.
 */
#include "cmd/commands.h"
#include "cmd/noise.h"
#include "report/json_emit.h"
#include "report/phrase.h"
#include "report/text.h"

#include <string.h>

/* One of the two, with the ids of its findings. */
struct result {
    struct findings findings;
    struct intern ids;
};

static size_t total(const struct findings *f)
{
    return f->count + f->ndeadlocks;
}

/* How many of a are not in b. */
static size_t count_only(const struct result *a, const struct result *b)
{
    size_t n = 0;

    for (size_t i = 0; i < total(&a->findings); i++)
        n += !findings_listed(&b->ids, findings_id(&a->findings, i));
    return n;
}

static void list_ids(struct emitter *e, const char *key, const struct result *a,
                     const struct result *b, bool in_both)
{
    const struct findings *f = &a->findings;

    emit_open(e, key, '[', true);
    for (size_t i = 0; i < total(f); i++)
        if (findings_listed(&b->ids, findings_id(f, i)) == in_both)
            emit_string(e, NULL, findings_id(f, i));
    emit_close(e);
}

static void write_json(const struct result *old, const struct result *new, FILE *out)
{
    struct emitter e = { .out = out };

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "schema", 1);
    emit_string(&e, "old", old->findings.trace.path);
    emit_string(&e, "new", new->findings.trace.path);
    list_ids(&e, "added", new, old, false);
    list_ids(&e, "gone", old, new, false);
    list_ids(&e, "same", new, old, true);
    emit_close(&e);
    fputc('\n', out);
}

static void list_gone(const struct findings *old, const struct intern *new, FILE *out)
{
    for (size_t i = 0; i < total(old); i++) {
        struct buf b = { 0 };

        if (findings_listed(new, findings_id(old, i)))
            continue;
        if (i < old->count)
            phrase_race(&b, &old->races[i]);
        else
            phrase_deadlock(&b, &old->deadlocks[i - old->count]);
        fprintf(out, "gone: %s %s\n", findings_id(old, i), b.data);
        buf_release(&b);
    }
}

/* The new ones in full, as a report of their own. */
static void write_text(const struct result *old, struct result *new, bool colour, FILE *out)
{
    size_t added = count_only(new, old), gone = count_only(old, new);

    fprintf(out, "%zu new, %zu gone, %zu in both\n", added, gone, total(&new->findings) - added);
    list_gone(&old->findings, &new->ids, out);
    if (!added)
        return;
    findings_subtract(&new->findings, &old->findings);
    fputc('\n', out);
    text_report(&new->findings, colour, out);
}

static enum strength strength_of(const struct findings *f, size_t i)
{
    return i < f->count ? f->races[i].strength : f->deadlocks[i - f->count].strength;
}

/* Is one new that counts (--fail-on)? */
static bool fails(const struct result *old, const struct result *new, const struct options *o)
{
    const struct findings *f = &new->findings;

    for (size_t i = 0; i < total(f); i++)
        if (!findings_listed(&old->ids, findings_id(f, i)) && strength_fails(o, strength_of(f, i)))
            return true;
    return false;
}

static int diff_show(const struct result *old, struct result *new, const struct options *o)
{
    bool added = fails(old, new, o);
    struct outfile out;
    int code = outfile_open(&out, o->texts[OPT_OUTPUT], stdout);

    if (code)
        return code;
    if (strcmp(o->texts[OPT_FORMAT], "json") == 0)
        write_json(old, new, out.file);
    else
        write_text(old, new, outfile_colour(&out), out.file);
    code = outfile_close(&out, true);
    return code ? code : added ? EXIT_RACES : EXIT_NOTHING;
}

static int read_result(const char *path, struct result *r)
{
    int code = read_result_file(path, &r->findings);

    if (code == 0)
        findings_list_ids(&r->findings, &r->ids);
    return code;
}

static void diff_release(struct result *r)
{
    findings_release(&r->findings);
    intern_release(&r->ids);
}

int cmd_diff(const struct options *o)
{
    struct result old = { 0 }, new = { 0 };
    int code = read_result(o->arguments[0], &old);

    if (code == 0)
        code = read_result(o->arguments[1], &new);
    if (code == 0)
        code = diff_show(&old, &new, o);
    diff_release(&old);
    diff_release(&new);
    return code;
}
