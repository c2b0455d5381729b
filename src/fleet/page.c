/* page.c - the page of `heddle fleet serve`
 *
 * Plain HTML made here; nothing is loaded from elsewhere, and only the page of races has a script
 * (its own). Script and styles are files of their own, so that whatever a store manages to put into
 * the markup is neither run nor obeyed (http.c forbids everything inline); and all of it is
 * escaped. Bars are on a logarithmic scale: the steps of the funnel differ by powers of ten.
 */
#include "fleet/page.h"
#include "base/plural.h"
#include "fleet/races.h"
#include "report/html.h"
#include "report/json.h"
#include "report/phrase.h"
#include "report/xml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RUNS_SHOWN = 50, RUNS_JSON = 1000, SKIPS_SHOWN = 20 };
#define PAGE_STYLE "fleet.css"

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#222;background:#fff}h1{font-size:1.4em}h2{font-size:1.15em;margin:1.6em 0 .3em}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em .6em;"
    "border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums}code,.i{font-family:ui-monospace,monospace;font-size:.9em}"
    "td.b{width:60%}.b svg{width:100%;height:1em;display:block}rect{fill:#4a7ebb;height:1em}"
    ".confirmed rect{fill:#c0392b}.q{color:#666}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}"
    "a{color:#8ab4f8}}";

static void bar(FILE *out, const char *name, uint64_t n, uint64_t most, const char *more)
{
    double width = n ? 100 * (1 + log10((double)n)) / (1 + log10((double)(most ? most : 1))) : 0;

    fprintf(out,
            "<tr class=%s><th scope=row>%s<td class=n>%" PRIu64
            "<td class=b><svg aria-hidden=true><rect width='%.1f%%'/></svg><td class=q>%s\n",
            name, name, n, width > 100 ? 100 : width, more);
}

static int show_program(void *arg, const struct store_program *p)
{
    FILE *out = arg;
    char more[128], last[32];

    fputs("<h2>", out);
    xml_put(out, p->name ? p->name : "?");
    fprintf(out, " <span class='q i'>%.12s</span></h2>\n", p->id); /* hex digits */
    if (p->note) {
        fputs("<p>no pairs: ", out);
        xml_put(out, p->note);
    }
    fputs("<table>\n", out);
    snprintf(more, sizeof(more), "%" PRIu64 " site%s, %" PRIu64 " pair%s without a common lock",
             p->sites, plural(p->sites), p->lockset, plural(p->lockset));
    bar(out, "static", p->pairs, p->pairs, more);
    snprintf(more, sizeof(more), "%" PRIu64 " site%s escaped, %s", p->escaped, plural(p->escaped),
             p->steady ? "steady" : "not steady yet");
    bar(out, "possible", p->possible, p->pairs, more);
    bar(out, "chased", p->chased, p->pairs, "");
    snprintf(more, sizeof(more), "%" PRIu64 " race%s, seen %" PRIu64 " time%s", p->races,
             plural(p->races), p->sightings, plural(p->sightings));
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
    fprintf(out, "<td class=n>%" PRId64 "<td>", r->pid);
    xml_put(out, r->kind);
    fputs("<td class=i>", out);
    if (r->s1) {
        xml_put(out, r->s1);
        fputs(", ", out);
        xml_put(out, r->s2);
    }
    fputs("<td>", out);
    xml_put(out, r->state);
    fputs("<td class=n>", out);
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
        fputs(" <span class='q i'>", out);
        xml_put(out, f.races[i].id);
        fprintf(out, ", %" PRIu64 " time%s</span>\n", f.races[i].count, plural(f.races[i].count));
        buf_release(&b);
    }
    fputs("</ul>\n", out);
    findings_release(&f);
    return r;
}

static void show_skipped(const struct store *s, FILE *out)
{
    const char *text;

    if (!store_skipped(s))
        return;
    fprintf(out, "<h2>Skipped</h2><p>%" PRIu64 " rows that Heddle cannot have written<ul>\n",
            store_skipped(s));
    for (size_t i = 0; i < SKIPS_SHOWN && (text = store_skip_text(s, i)); i++) {
        fputs("<li>", out);
        xml_put(out, text);
        fputc('\n', out);
    }
    fputs("</ul>\n", out);
}

static int front_page(struct store *s, const struct status_about *about, FILE *out,
                      struct error *err)
{
    int r;

    fputs("<!doctype html><html lang=en><meta charset=utf-8><title>heddle fleet</title>"
          "<meta name=viewport content='width=device-width'>"
          "<link rel=stylesheet href=" PAGE_STYLE "><h1>heddle fleet <span class='q i'>",
          out);
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
    fputs("</table>\n", out);
    show_skipped(s, out);
    fputs("<p class=q><a href=status.json>status.json</a> <a href=races.json>races.json</a>"
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

static const char *file_of(const char *path, const char **type)
{
    const struct {
        const char *path, *text, *type;
    } files[] = { { "/" PAGE_STYLE, style, "text/css; charset=utf-8" },
                  { "/" HTML_STYLE, html_style(), "text/css; charset=utf-8" },
                  { "/" HTML_SCRIPT, html_script(), "text/javascript; charset=utf-8" } };

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (strcmp(path, files[i].path) == 0) {
            *type = files[i].type;
            return files[i].text;
        }
    return NULL;
}

bool page_is_there(const char *path)
{
    static const char *const paths[] = { "/", "/races", "/status.json", "/races.json",
                                         "/runs.json" };
    const char *type;

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return true;
    return file_of(path, &type) != NULL;
}

bool page_file(const char *path, FILE *out, const char **type)
{
    const char *text = file_of(path, type);

    if (text)
        fputs(text, out);
    return text != NULL;
}

static int page(struct store *s, const struct status_about *about, const char *path, FILE *out,
                struct error *err)
{
    if (strcmp(path, "/races") == 0)
        return races_as(s, about, out, html_write_linked, err);
    if (strcmp(path, "/status.json") == 0)
        return status_json(s, about, out, err);
    if (strcmp(path, "/races.json") == 0)
        return races_as(s, about, out, json_write, err);
    if (strcmp(path, "/runs.json") == 0)
        return status_runs_json(s, RUNS_JSON, out, err);
    return front_page(s, about, out, err);
}

int page_answer(struct store *s, const struct status_about *about, const char *path, FILE *out,
                const char **type)
{
    struct error err = { { 0 } };

    *type = strstr(path, ".json") ? "application/json" : "text/html; charset=utf-8";
    if (page(s, about, path, out, &err) >= 0)
        return 200;
    *type = "text/plain; charset=utf-8";
    fprintf(out, "\n%s\n", err.text);
    return 500;
}
