/* page.c - the page of `heddle fleet serve`
 *
 * Plain HTML made here; nothing is loaded from elsewhere, and only the page of races has a script
 * (its own). Bars are on a logarithmic scale: the steps of the funnel differ by powers of ten.
 */
#include "fleet/page.h"
#include "fleet/races.h"
#include "report/html.h"
#include "report/json.h"
#include "report/phrase.h"
#include "report/xml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RUNS_SHOWN = 50, RUNS_JSON = 1000 };

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#222;background:#fff}h1{font-size:1.4em}h2{font-size:1.15em;margin:1.6em 0 .3em}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em .6em;"
    "border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums}code,.i{font-family:ui-monospace,monospace;font-size:.9em}"
    ".bar{background:#4a7ebb;height:1em;display:inline-block;min-width:2px}"
    ".confirmed .bar{background:#c0392b}.q{color:#666}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}"
    "a{color:#8ab4f8}}";

static void bar(FILE *out, const char *name, uint64_t n, uint64_t most, const char *more)
{
    double width = n ? 100 * (1 + log10((double)n)) / (1 + log10((double)(most ? most : 1))) : 0;

    fprintf(out,
            "<tr class=%s><th scope=row>%s<td class=n>%" PRIu64
            "<td style=width:60%%><span class=bar style=width:%.1f%%></span><td class=q>%s\n",
            name, name, n, width > 100 ? 100 : width, more);
}

static int show_program(void *arg, const struct store_program *p)
{
    FILE *out = arg;
    char more[128], last[32];

    fputs("<h2>", out);
    xml_put(out, p->name ? p->name : "?");
    fprintf(out, " <span class='q i'>%.12s</span></h2>\n", p->id);
    if (p->note) {
        fputs("<p>no pairs: ", out);
        xml_put(out, p->note);
    }
    fputs("<table>\n", out);
    snprintf(more, sizeof(more), "%" PRIu64 " sites, %" PRIu64 " pairs without a common lock",
             p->sites, p->lockset);
    bar(out, "static", p->pairs, p->pairs, more);
    snprintf(more, sizeof(more), "%" PRIu64 " sites escaped, %s", p->escaped,
             p->steady ? "steady" : "not steady yet");
    bar(out, "possible", p->possible, p->pairs, more);
    bar(out, "chased", p->chased, p->pairs, "");
    snprintf(more, sizeof(more), "%" PRIu64 " races, seen %" PRIu64 " times", p->races,
             p->sightings);
    bar(out, "confirmed", p->confirmed, p->pairs, more);
    fprintf(out,
            "</table><p class=q>runs: %" PRIu64 " caper, %" PRIu64 " chase, %" PRIu64
            " plain; %" PRIu64 " running, %" PRIu64 " lost; last %s UTC\n",
            p->runs[FLEET_CAPER], p->runs[FLEET_CHASE], p->runs[FLEET_PLAIN], p->running, p->lost,
            status_time(p->last_ms, last));
    return 0;
}

static int show_run(void *arg, const struct store_run *r)
{
    FILE *out = arg;
    char start[32];

    fprintf(out, "<tr><td>%s<td>", status_time(r->started_ms, start));
    xml_put(out, r->host);
    fprintf(out, "<td class=n>%" PRId64 "<td>%s<td class=i>", r->pid, r->kind);
    if (r->s1) {
        xml_put(out, r->s1);
        fputs(", ", out);
        xml_put(out, r->s2);
    }
    fprintf(out, "<td>%s<td class=n>", r->state);
    if (r->ended_ms)
        fprintf(out, "%" PRId64 "<td class=n>%.1f s", r->exit,
                (double)(r->ended_ms - r->started_ms) / 1000);
    else
        fputs("<td>", out);
    fprintf(out, "<td class=n>%" PRIu64 "\n", r->sightings);
    return 0;
}

static int show_races(struct store *s, const struct status_about *about, FILE *out,
                      struct error *err)
{
    struct findings f = { 0 };
    int r = races_load(s, about, &f, err);

    fprintf(out, "<h2>Confirmed races</h2><p>%s<ul>\n",
            f.count ? "<a href=races>all in full</a>" : "none yet");
    for (size_t i = 0; r == 0 && i < f.count; i++) {
        struct buf b = { 0 };

        phrase_race(&b, &f.races[i]);
        fputs("<li>", out);
        xml_put(out, b.data);
        fprintf(out, " <span class='q i'>%s, %" PRIu64 " times</span>\n", f.races[i].id,
                f.races[i].count);
        buf_release(&b);
    }
    fputs("</ul>\n", out);
    findings_release(&f);
    return r;
}

static int front_page(struct store *s, const struct status_about *about, FILE *out,
                      struct error *err)
{
    int r;

    fprintf(out,
            "<!doctype html><html lang=en><meta charset=utf-8><title>heddle fleet</title>"
            "<meta name=viewport content='width=device-width'><style>%s</style>"
            "<h1>heddle fleet <span class='q i'>",
            style);
    xml_put(out, about->store);
    fputs("</span></h1>\n", out);
    r = store_programs(s, show_program, out, err);
    if (r == 0)
        r = show_races(s, about, out, err);
    fprintf(out,
            "<h2>Last %d runs</h2><table><tr><th>started (UTC)<th>host<th>pid<th>kind"
            "<th>pair<th>state<th>exit<th>time<th>sightings\n",
            RUNS_SHOWN);
    if (r == 0)
        r = store_runs(s, RUNS_SHOWN, show_run, out, err);
    fputs("</table><p class=q><a href=status.json>status.json</a> <a href=races.json>races.json</a>"
          " <a href=runs.json>runs.json</a>\n",
          out);
    return r;
}

static int races_as(struct store *s, const struct status_about *about, FILE *out,
                    void (*write)(const struct findings *f, FILE *out), struct error *err)
{
    struct findings f = { 0 };
    int r = races_load(s, about, &f, err);

    if (r == 0)
        write(&f, out);
    findings_release(&f);
    return r;
}

int page_answer(struct store *s, const struct status_about *about, const char *path, FILE *out,
                const char **type)
{
    struct error err = { { 0 } };
    int r;

    *type = "text/html; charset=utf-8";
    if (strcmp(path, "/") == 0) {
        r = front_page(s, about, out, &err);
    } else if (strcmp(path, "/races") == 0) {
        r = races_as(s, about, out, html_write, &err);
    } else {
        *type = "application/json";
        if (strcmp(path, "/status.json") == 0) {
            r = status_json(s, about, out, &err);
        } else if (strcmp(path, "/races.json") == 0) {
            r = races_as(s, about, out, json_write, &err);
        } else if (strcmp(path, "/runs.json") == 0) {
            r = status_runs_json(s, RUNS_JSON, out, &err);
        } else {
            *type = "text/plain";
            fputs("not found\n", out);
            return 404;
        }
    }
    if (r >= 0)
        return 200;
    *type = "text/plain";
    fprintf(out, "\n%s\n", err.text);
    return 500;
}
