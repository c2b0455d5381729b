/* undecided.c - what an engine left undecided, in words */
#include "report/undecided.h"

#include <inttypes.h>
#include <string.h>

/* "N <one or many>: <why>" */
struct reason {
    const char *counter, *one, *many, *why;
};

static const struct reason reasons[] = {
    { UNDECIDED_CUT, NULL, NULL, "a part of the trace is lost" },
    { "interrupted", NULL, NULL, "it was interrupted" },
    { "stopped", NULL, NULL, "the effort was used up before the end of the trace (--effort)" },
    { "undecided", "pair of locations was not decided", "pairs of locations were not decided",
      "too hard, or the effort was used up (--effort)" },
    { "lists_undecided", "pair of threads and locations was not decided",
      "pairs of threads and locations were not decided",
      "too hard, or the effort was used up (--effort)" },
    { "pairs_skipped", "pair of locations was not looked at",
      "pairs of locations were not looked at", "the effort was used up (--effort)" },
    { "instances_cut", "pair of locations was tried in part",
      "pairs of locations were tried in part", "too many accesses" },
    { "instances_dropped", "instance was not looked at", "instances were not looked at",
      "more than a million pairs of locations, or too many accesses of one variable" },
    { "crowded", "access was compared with only 2,048 others",
      "accesses were compared with only 2,048 others each",
      "so many threads access a variable without order" },
    { "witness_over_budget", "race has no schedule", "races have no schedule",
      "the effort, or the room for schedules, was used up (--effort)" },
    { "witness_too_far", "finding has no schedule", "findings have no schedule",
      "too far behind in the trace (--part)" },
    { "not_decided_by_values", "pair of locations was not decided",
      "pairs of locations were not decided", "schedules need other values" },
    { "undecided_relaxed", "pair of locations was not decided with other values",
      "pairs of locations were not decided with other values",
      "too hard, or the effort was used up (--effort)" },
    { "instances_cut_relaxed", "pair of locations was tried in part with other values",
      "pairs of locations were tried in part with other values", "too many accesses" },
    { "pairs_skipped_relaxed", "pair of locations was not tried with other values",
      "pairs of locations were not tried with other values", "the effort was used up (--effort)" },
    { "flips_undecided", "question about code that was not executed is open",
      "questions about code that was not executed are open",
      "too hard, or the effort was used up (--effort)" },
    { "flips_cut", "question about code that was not executed was not asked",
      "questions about code that was not executed were not asked", "too many of them" },
    { "flip_paths_skipped", "path of code that was not executed was not tried",
      "paths of code that was not executed were not tried", "the effort was used up (--effort)" },
    { "too_long_for_flips", NULL, NULL,
      "the trace is too long to look at code that was not executed" },
    { "too_long", NULL, NULL, "the trace is longer than it can number" },
    { "events_not_seen", "event was not looked at", "events were not looked at",
      "they lie behind the events that are held in memory, or the effort was used up (--effort)" },
    { "approximated", "order of critical sections was approximated",
      "orders of critical sections were approximated", "too many sections are open at a time" },
    { "occurrences_undecided", "occurrence was not decided", "occurrences were not decided",
      "too many of them, or the effort was used up (--effort)" },
    { "judged_undecided", "pair of locations was left out", "pairs of locations were left out",
      "whether calls of untraced code bring an order was not decided" },
    { "beyond_judgement", "pair of locations was not judged", "pairs of locations were not judged",
      "calls of untraced code may bring an order, far behind in the trace" },
    { "undecided_patterns", "ring of requests was not decided",
      "rings of requests were not decided", "the effort was used up (--effort)" },
    { "patterns_dropped", "ring of requests was dropped", "rings of requests were dropped",
      "there are more than 10000 deadlocks" },
    { "search_cut", NULL, NULL, "there are more rings of requests than it searches" },
    { "requests_too_deep", "request was not looked at", "requests were not looked at",
      "too many locks are held at a time" },
    { "requests_too_far", "request was not looked at", "requests were not looked at",
      "the trace is longer than it can number" },
};
enum { REASONS = sizeof(reasons) / sizeof(*reasons) };

static const struct reason *reason_of(const char *counter)
{
    for (size_t i = 0; i < REASONS; i++)
        if (strcmp(reasons[i].counter, counter) == 0)
            return &reasons[i];
    return NULL;
}

/* Windows have no number of things that were left. */
static bool add_window(const struct findings_counter *c, struct buf *b)
{
    bool significant = strcmp(c->name, "significant_window") == 0;

    if (!significant && strcmp(c->name, "window") != 0)
        return false;
    buf_addf(b, "races of accesses more than %" PRIu64 " %sevents apart are not found (windows)",
             c->value, significant ? "significant " : "");
    return true;
}

static bool add_counter(const struct findings_counter *c, struct buf *b)
{
    const struct reason *r = reason_of(c->name);

    if (!c->value)
        return false;
    if (!r)
        return add_window(c, b);
    if (r->one)
        buf_addf(b, "%" PRIu64 " %s: ", c->value, c->value == 1 ? r->one : r->many);
    buf_addstr(b, r->why);
    return true;
}

bool undecided_next(const struct findings_engine *e, size_t *at, struct buf *b)
{
    bool first = *at == 0;

    if (e->complete)
        return false;
    while (*at < e->ncounters)
        if (add_counter(&e->counters[(*at)++], b))
            return true;
    if (!first || *at > e->ncounters)
        return false;
    *at = e->ncounters + 1;
    buf_addstr(b, "it stopped early, there may be more");
    return true;
}
