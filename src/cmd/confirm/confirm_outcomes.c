/* confirm_outcomes.c - what the two orders of a race's accesses do to the program
 *
 * Each order is asked for until it came about so many times, at most twice as often. How the
 * program ended is the runtime's (exit code, signal and where), what it said is read from its
 * output: the summary of a sanitizer, a failed assertion, the last words before abort(). Addresses
 * and process numbers in the output are no difference.
 *
 * No outcome is called harmless: an order that ends well here may not end well elsewhere.
 */
#include "cmd/confirm/confirm_outcomes.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_MOST = 1 << 20, LINE_MOST = 160 };

/* ---- the output ---- */

static char *read_output(const struct confirm_run *run)
{
    char *path = xasprintf("%s/output", run->scratch), *text = xcalloc(OUTPUT_MOST + 1, 1);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, OUTPUT_MOST, in) : 0;

    text[n] = 0;
    for (size_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' ';
    if (in)
        fclose(in);
    free(path);
    return text;
}

/* Numbers that change from run to run: "==123==", 0x7f..., blanked in place. */
static void blank_numbers(char *s)
{
    for (; *s; s++) {
        size_t n = strncmp(s, "0x", 2) == 0   ? strspn(s + 2, "0123456789abcdef")
                   : strncmp(s, "==", 2) == 0 ? strspn(s + 2, "0123456789")
                                              : 0;

        for (size_t i = 0; i < n; i++)
            s[2 + i] = '#';
        s += n ? n + 1 : 0;
    }
}

static uint64_t hash_of(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

static char *line_from(const char *start)
{
    size_t n = strcspn(start, "\n");

    while (n && isspace((unsigned char)start[n - 1]))
        n--;
    return xstrndup(start, n < LINE_MOST ? n : LINE_MOST);
}

static const char *line_start(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return at;
}

/* What a sanitizer or assert() has to say; NULL: nothing. */
static char *report_in(const char *text)
{
    static const char *const marks[] = { "SUMMARY: ", "runtime error: ",
                                         "ERROR: AddressSanitizer" };
    const char *at;

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if ((at = strstr(text, marks[i])))
            return line_from(i == 0 ? at + strlen(marks[0]) : line_start(text, at));
    if ((at = strstr(text, "Assertion `")) && strstr(at, "failed"))
        return line_from(line_start(text, at));
    return NULL;
}

static char *last_line(const char *text)
{
    size_t n = strlen(text);

    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return n ? line_from(line_start(text, text + n - 1)) : NULL;
}

/* ---- one run ---- */

static char *signal_text(int signal, const char *crash)
{
    const char *name = sigabbrev_np(signal);
    char *number = xasprintf("signal %d", signal),
         *text = xasprintf("%s%s%s%s", name ? "SIG" : "", name ? name : number, crash ? " in " : "",
                           crash ? crash : "");

    free(number);
    return text;
}

/* A program that a signal ends has the exit code that a shell would say. */
static int signal_of(int code)
{
    return code > 128 && code < 128 + 65 ? code - 128 : 0;
}

static struct outcome describe(const struct confirmation *one, const char *text)
{
    struct outcome o = { .rank = OUTCOME_CRASH };
    int signal = signal_of(one->code);
    char *report = report_in(text), *words;

    if (one->timed_out) {
        o = (struct outcome){ xasprintf("did not end by itself"), OUTCOME_HANG, 0 };
    } else if (signal) {
        words = signal_text(signal, one->crash);
        if (!report && signal == SIGABRT)
            report = last_line(text);
        o.text = xasprintf("%s%s%s", words, report ? ": " : "", report ? report : "");
        free(words);
    } else {
        o.text = xasprintf("exit %d%s%s", one->code, report ? ": " : "", report ? report : "");
        o.rank = report ? OUTCOME_CRASH : one->code ? OUTCOME_EXIT : OUTCOME_SAME;
    }
    free(report);
    return o;
}

static void count_outcome(struct order_outcomes *o, struct outcome *new)
{
    size_t i = 0;

    while (i < o->nseen && strcmp(o->seen[i].text, new->text) != 0)
        i++;
    if (i == OUTCOME_KINDS) {
        o->others++;
        free(new->text);
        return;
    }
    if (i == o->nseen)
        o->seen[o->nseen++] = *new;
    else
        free(new->text);
    o->seen[i].count++;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* ---- an order ---- */

static uint32_t flags_of(const struct order_outcomes *o)
{
    return (o->first ? STEER_SECOND_GOES : STEER_FIRST_GOES) | (o->mixed ? STEER_MIXED : 0u);
}

/* Where the first access ends the process, there is no second. */
static bool came_about(const struct order_outcomes *o, const struct confirmation *one)
{
    const struct steer_done *d = &one->done;
    bool alone = d->values & STEER_WENT && signal_of(one->code) && !one->timed_out;

    return d->met && d->first == o->first && (d->values & STEER_ORDERED || alone) &&
           (!o->mixed || d->values & STEER_WAS_MIXED);
}

static void take_run(struct order_outcomes *o, const struct confirm_run *run,
                     const struct confirmation *one)
{
    char *text = read_output(run);
    struct outcome new;
    uint64_t hash;

    blank_numbers(text);
    new = describe(one, text);
    hash = hash_of(text);
    if (!o->shown) {
        o->output = hash;
        o->outputs_agree = true;
        o->line = last_line(text);
    }
    o->outputs_agree &= o->output == hash;
    o->shown++;
    count_outcome(o, &new);
    free(text);
}

/* The other one waits, so that the one that is to go first may also be met behind its access. */
static uint32_t waiting_side(const struct order_outcomes *o, unsigned n)
{
    return n % 2 == 0 ? 0 : o->first ? STEER_SECOND_WAITS : STEER_FIRST_WAITS;
}

static int run_order(struct order_outcomes *o, const struct confirm_run *run,
                     const struct confirmation *c, unsigned wanted, bool *mixable)
{
    struct steer_plan *plan = xcalloc(1, sizeof(*plan));
    double *seconds = xcalloc(2 * wanted + 1, sizeof(*seconds));
    int code = 0;

    for (; code == 0 && o->runs < 2 * wanted && o->shown < wanted; o->runs++) {
        struct confirmation one = { .race = c->race };

        *plan = *c->met;
        plan->done = (struct steer_done){ 0 };
        plan->flags |= flags_of(o);
        if (o->runs >= wanted)
            plan->flags |= waiting_side(o, o->runs);
        code = confirm_run_once(run, plan, &one);
        *mixable |= (one.done.values & STEER_MIXABLE) != 0;
        if (code == 0 && came_about(o, &one)) {
            seconds[o->shown] = one.seconds;
            take_run(o, run, &one);
        }
        findings_release(&one.seen);
        free(one.crash);
    }
    qsort(seconds, o->shown, sizeof(*seconds), compare_doubles);
    o->seconds = o->shown ? seconds[o->shown / 2] : 0;
    free(seconds);
    free(plan);
    return code;
}

/* ---- all ---- */

static void raise_rank(struct outcomes *o, enum outcome_rank r)
{
    if (r > o->rank)
        o->rank = r;
}

static bool same_outcomes(const struct order_outcomes *a, const struct order_outcomes *b)
{
    return a->nseen == 1 && b->nseen == 1 && strcmp(a->seen[0].text, b->seen[0].text) == 0;
}

static void compare(struct outcomes *o)
{
    const struct order_outcomes *known = NULL;

    for (size_t i = 0; i < o->count; i++) {
        const struct order_outcomes *x = &o->order[i];

        for (size_t k = 0; k < x->nseen; k++)
            raise_rank(o, x->seen[k].rank);
        if (!x->shown)
            continue;
        if (known && !same_outcomes(known, x))
            o->differs = true;
        if (known && known->outputs_agree && x->outputs_agree && known->output != x->output) {
            o->differs = true;
            raise_rank(o, OUTCOME_OUTPUT);
        }
        known = x;
    }
}

int outcomes_collect(struct outcomes *o, const struct confirm_run *run,
                     const struct confirmation *c, unsigned runs)
{
    bool mixable[2] = { false, false };
    int code = 0;

    for (unsigned side = 0; code == 0 && side < 2; side++) {
        o->order[o->count] = (struct order_outcomes){ .first = side };
        code = run_order(&o->order[o->count++], run, c, runs, &mixable[side]);
    }
    for (unsigned side = 0; code == 0 && side < 2; side++) {
        if (!mixable[side])
            continue;
        o->order[o->count] = (struct order_outcomes){ .first = side, .mixed = true };
        code = run_order(&o->order[o->count++], run, c, runs, &mixable[side]);
    }
    compare(o);
    return code;
}

void outcomes_free(struct outcomes *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->count; i++) {
        for (size_t k = 0; k < o->order[i].nseen; k++)
            free(o->order[i].seen[k].text);
        free(o->order[i].line);
    }
    free(o);
}

void outcomes_name_order(const struct order_outcomes *o, const struct finding *race, struct buf *b)
{
    const struct side *first = &race->sides[o->first], *second = &race->sides[!o->first];

    buf_addf(b, "%s at %s before %s at %s", first->op, first->location, second->op,
             second->location);
    if (o->mixed)
        buf_addf(b, ", which sees %s",
                 race->sides[!o->first].bytes > 8 ? "half of it" : "the old value");
}

const char *outcome_rank_name(enum outcome_rank r)
{
    static const char *const names[] = { "none", "output", "exit code", "hang", "crash" };

    return names[r];
}
