/* prop_main.c - property tests on random traces
 *
 * Generates traces from consecutive seeds and asks every property about each.
 * A violation is shrunk by leaving out events as long as the property stays
 * violated and the trace stays consistent, then printed with its seed; the
 * exit code is 1. With --show N the run goes on, prints N violations of each
 * property and counts the others, for a survey.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen.h"
#include "properties.h"

enum { MAX_PROPERTIES = 128 };

static const struct property *const lists[] = {
    properties_observed, properties_actual,  properties_certain,  properties_cp,
    properties_deadlock, properties_live,    properties_sieve,    properties_sshb,
    properties_syncp,    properties_gist,    properties_showable, properties_wcp,
    properties_osr,      properties_solve,   properties_z3,       properties_exclude,
    properties_rdit,     properties_windows, properties_parts,    properties_options,
    properties_wide,     properties_taints
};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

struct tally {
    uint64_t asked, applied, violated;
};

struct run {
    uint64_t seed, count;
    uint32_t max_events;
    const char *only;
    uint64_t show; /* violations of a property that are printed; 0: stop at the first */
    struct tally tally[MAX_PROPERTIES];
    uint64_t traces, events, with_values, with_branches;
    uint64_t races[SUBJECT_ENGINES], predictable, missed_by_hb, traces_missed_by_hb;
};

static const char usage_text[] =
    "usage: property-tests [--seed N] [--count N] [--max-events N] [--only PROPERTY] "
    "[--show N]\n"
    "Check the relations of docs/design/proof.md on random traces (default: 20000 from seed 1).\n";

/* ---- shrinking ---- */

/* The text without line `skip`. */
static void without_line(const struct buf *text, size_t skip, struct buf *out)
{
    const char *p = text->data, *end = text->data + text->len;

    out->len = 0;
    for (size_t n = 0; p < end; n++) {
        const char *next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;

        if (n != skip)
            buf_add(out, p, (size_t)(next - p));
        p = next;
    }
}

static size_t count_lines(const struct buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

/* Still a sensible trace that violates the property? */
static bool still_violated(const struct buf *text, const struct property *p, struct buf *why)
{
    struct subject s;
    struct buf reason = { 0 };
    bool violated;

    subject_init(&s, text);
    violated =
        (p->check == properties_observed[1].check || !diags_repaired(trace_diags(s.trace))) &&
        s.exact && p->check(&s, &reason) == VIOLATED;
    if (violated) {
        why->len = 0;
        buf_addf(why, "%s", reason.data);
    }
    buf_release(&reason);
    subject_release(&s);
    return violated;
}

static void shrink(struct buf *text, const struct property *p, struct buf *why)
{
    struct buf smaller = { 0 };
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = count_lines(text); i-- > 0;) {
            if (count_lines(text) <= 1)
                break;
            without_line(text, i, &smaller);
            if (!still_violated(&smaller, p, why))
                continue;
            text->len = 0;
            buf_add(text, smaller.data, smaller.len);
            changed = true;
        }
    }
    buf_release(&smaller);
}

static void report(uint64_t seed, const struct property *p, const struct buf *text, struct buf *why)
{
    struct buf small = { 0 };

    buf_add(&small, text->data, text->len);
    shrink(&small, p, why);
    printf("property %s is violated\nseed %llu: %s\n%.*s\n", p->name, (unsigned long long)seed,
           why->data, (int)small.len, small.data);
    fflush(stdout);
    buf_release(&small);
}

/* ---- the run ---- */

static void count_races(struct run *r, const struct subject *s)
{
    uint64_t missed = 0;

    for (size_t e = 0; e < s->nengines; e++)
        r->races[e] += s->found[e].count;
    for (size_t i = 0; i < s->oracle.count; i++)
        missed +=
            !pair_set_has(&s->hb_unordered, s->oracle.races[i].first, s->oracle.races[i].second);
    r->predictable += s->oracle.count;
    r->missed_by_hb += missed;
    r->traces_missed_by_hb += missed > 0;
    r->events += s->mem.count;
    r->with_values += s->info->values;
    r->with_branches += s->info->branches;
    r->traces++;
}

/* Ask about one property; false where it is violated. */
static bool ask(struct run *r, struct tally *tally, const struct property *p, uint64_t seed,
                struct subject *s, const struct buf *text)
{
    struct buf why = { 0 };
    enum verdict v;

    if ((r->only && strcmp(r->only, p->name)) || (p->every > 1 && seed % p->every))
        return true;
    v = p->check(s, &why);
    tally->asked++;
    tally->applied += v != DOES_NOT_APPLY;
    if (v == VIOLATED && tally->violated++ < (r->show ? r->show : 1))
        report(seed, p, text, &why);
    buf_release(&why);
    return v != VIOLATED;
}

/* False at the first violation. */
static bool check_seed(struct run *r, uint64_t seed)
{
    struct gen_small_options options;
    struct gen_trace g;
    struct subject s;
    struct buf text = { 0 };
    struct tally *tally = r->tally;
    bool fine = true;

    gen_small_random(&options, seed, r->max_events);
    if (seed % 5 == 0)
        gen_small_heap(&options);
    else if (seed % 5 == 1)
        gen_small_locks(&options);
    gen_small(&options, &g);
    gen_trace_text(&g, &text);
    gen_trace_release(&g);
    if (!text.len)
        return true;
    subject_init(&s, &text);
    count_races(r, &s);
    for (size_t l = 0; l < LISTS; l++)
        for (const struct property *p = lists[l]; p->name; p++)
            fine &= ask(r, tally++, p, seed, &s, &text);
    subject_release(&s);
    buf_release(&text);
    return fine;
}

static void print_summary(const struct run *r, double seconds)
{
    const struct tally *tally = r->tally;

    printf("%llu traces, %llu events, %.1f s, %.0f traces/s\n", (unsigned long long)r->traces,
           (unsigned long long)r->events, seconds, (double)r->traces / seconds);
    printf("%llu with values, %llu with branches\n", (unsigned long long)r->with_values,
           (unsigned long long)r->with_branches);
    for (size_t e = 0; engine_registry[e]; e++)
        printf("%-10s %8llu races\n", engine_registry[e]->name, (unsigned long long)r->races[e]);
    printf("%-10s %8llu races; %llu of them in %llu traces are ordered by hb\n", "possible",
           (unsigned long long)r->predictable, (unsigned long long)r->missed_by_hb,
           (unsigned long long)r->traces_missed_by_hb);
    for (size_t l = 0; l < LISTS; l++)
        for (const struct property *p = lists[l]; p->name; p++, tally++)
            if (tally->asked)
                printf("%-45s %8llu checked %8llu violated\n", p->name,
                       (unsigned long long)tally->applied, (unsigned long long)tally->violated);
}

static bool number(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool parse_arguments(struct run *r, int argc, char **argv)
{
    static const struct option options[] = {
        { "seed", 1, NULL, 's' }, { "count", 1, NULL, 'c' }, { "max-events", 1, NULL, 'm' },
        { "show", 1, NULL, 'w' }, { "only", 1, NULL, 'o' },  { NULL, 0, NULL, 0 },
    };
    uint64_t n = 0;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == '?' || (strchr("scmw", c) && !number(optarg, &n)))
            return false;
        if (c == 's')
            r->seed = n;
        else if (c == 'c')
            r->count = n;
        else if (c == 'm' && n >= 4 && n <= 60)
            r->max_events = (uint32_t)n;
        else if (c == 'w')
            r->show = n;
        else if (c == 'o')
            r->only = optarg;
        else
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct run r = { .seed = 1, .count = 20000, .max_events = 24 };
    struct timespec a, z;
    bool fine = true;

    if (!parse_arguments(&r, argc, argv)) {
        fputs(usage_text, stderr);
        return 129;
    }
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (uint64_t i = 0; i < r.count && (fine || r.show); i++)
        fine &= check_seed(&r, r.seed + i);
    clock_gettime(CLOCK_MONOTONIC, &z);
    print_summary(&r, (double)(z.tv_sec - a.tv_sec) + (double)(z.tv_nsec - a.tv_nsec) * 1e-9);
    return fine ? 0 : 1;
}
