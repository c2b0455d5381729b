/* status.c - the funnel, as text and JSON */
#include "fleet/status.h"
#include "base/plural.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

struct shower {
    const struct status_about *about;
    FILE *out;
    struct emitter e;
    int shown;
};

bool status_matches(const char *wanted, const char *id, const char *name)
{
    if (!wanted)
        return true;
    return (name && strcmp(wanted, name) == 0) ||
           (strlen(wanted) >= 4 && strncmp(id, wanted, strlen(wanted)) == 0);
}

const char *status_time(int64_t ms, char text[32])
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    if (!ms || !gmtime_r(&t, &tm) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm))
        return "-";
    return text;
}

/* ---- text ---- */

static int show_text(void *arg, const struct store_program *p)
{
    struct shower *w = arg;
    char last[32];

    if (!status_matches(w->about->program, p->id, p->name))
        return 0;
    fprintf(w->out, "%s%s (build %.12s)\n", w->shown++ ? "\n" : "", p->name ? p->name : "?", p->id);
    if (p->note)
        fprintf(w->out, "  no pairs: %s\n", p->note);
    else if (!p->analysed)
        fputs("  not analysed yet\n", w->out);
    fprintf(w->out,
            "  static     %8" PRIu64 " pair%s of %" PRIu64 " site%s, %" PRIu64
            " without a common lock\n",
            p->pairs, plural(p->pairs), p->sites, plural(p->sites), p->lockset);
    fprintf(w->out, "  possible   %8" PRIu64 " pair%s, %" PRIu64 " site%s escaped, %s\n",
            p->possible, plural(p->possible), p->escaped, plural(p->escaped),
            p->steady ? "steady" : "not steady yet");
    fprintf(w->out, "  chased     %8" PRIu64 " pair%s\n", p->chased, plural(p->chased));
    fprintf(w->out,
            "  confirmed  %8" PRIu64 " pair%s, %" PRIu64 " race%s, seen %" PRIu64 " time%s\n",
            p->confirmed, plural(p->confirmed), p->races, plural(p->races), p->sightings,
            plural(p->sightings));
    fprintf(w->out,
            "  runs       %8" PRIu64 " ended (%" PRIu64 " static, %" PRIu64 " caper, %" PRIu64
            " chase, %" PRIu64 " plain), %" PRIu64 " running, %" PRIu64 " lost\n",
            p->runs[0] + p->runs[1] + p->runs[2] + p->runs[3], p->runs[FLEET_STATIC],
            p->runs[FLEET_CAPER], p->runs[FLEET_CHASE], p->runs[FLEET_PLAIN], p->running, p->lost);
    if (p->dropped)
        fprintf(w->out, "  dropped    %8" PRIu64 " sighting%s that runs had no room for\n",
                p->dropped, plural(p->dropped));
    fprintf(w->out, "  last run   %s UTC\n", status_time(p->last_ms, last));
    return 0;
}

int status_text(struct store *s, const struct status_about *about, FILE *out, struct error *err)
{
    struct shower w = { .about = about, .out = out };

    if (store_programs(s, show_text, &w, err) < 0)
        return -1;
    if (!w.shown && !about->program)
        fputs("no runs yet\n", out);
    if (about->spooled)
        fprintf(out, "\n%" PRIu64 " result%s wait%s in the spool; the next run puts %s in\n",
                about->spooled, plural(about->spooled), about->spooled == 1 ? "s" : "",
                about->spooled == 1 ? "it" : "them");
    return w.shown;
}

/* ---- JSON ---- */

static void emit_runs(struct emitter *e, const struct store_program *p)
{
    emit_open(e, "runs", '{', true);
    for (int i = 0; i < 4; i++)
        emit_number(e, fleet_kind_name((enum fleet_kind)i), p->runs[i]);
    emit_number(e, "running", p->running);
    emit_number(e, "lost", p->lost);
    emit_close(e);
}

static int show_json(void *arg, const struct store_program *p)
{
    struct shower *w = arg;
    struct emitter *e = &w->e;

    if (!status_matches(w->about->program, p->id, p->name))
        return 0;
    w->shown++;
    emit_open(e, NULL, '{', false);
    emit_string(e, "id", p->id);
    emit_string_if(e, "name", p->name);
    emit_string_if(e, "path", p->path);
    emit_string_if(e, "note", p->note);
    emit_bool(e, "analysed", p->analysed);
    emit_bool(e, "steady", p->steady);
    emit_number(e, "sites", p->sites);
    emit_number(e, "escaped", p->escaped);
    emit_open(e, "pairs", '{', true);
    emit_number(e, "static", p->pairs);
    emit_number(e, "lockset", p->lockset);
    emit_number(e, "possible", p->possible);
    emit_number(e, "chased", p->chased);
    emit_number(e, "confirmed", p->confirmed);
    emit_close(e);
    emit_number(e, "races", p->races);
    emit_number(e, "sightings", p->sightings);
    emit_number(e, "dropped", p->dropped);
    emit_runs(e, p);
    emit_number(e, "first_ms", (uint64_t)p->first_ms);
    emit_number(e, "last_ms", (uint64_t)p->last_ms);
    emit_close(e);
    return 0;
}

int status_json(struct store *s, const struct status_about *about, FILE *out, struct error *err)
{
    struct shower w = { .about = about, .out = out, .e = { .out = out } };
    int r;

    emit_open(&w.e, NULL, '{', false);
    emit_number(&w.e, "fleet", 1);
    emit_string(&w.e, "store", about->store);
    emit_number(&w.e, "spooled", about->spooled);
    emit_open(&w.e, "programs", '[', false);
    r = store_programs(s, show_json, &w, err);
    emit_close(&w.e);
    emit_close(&w.e);
    fputc('\n', out);
    return r < 0 ? -1 : w.shown;
}

static int show_run(void *arg, const struct store_run *r)
{
    struct emitter *e = arg;

    emit_open(e, NULL, '{', true);
    emit_string(e, "id", r->id);
    emit_string(e, "program", r->program);
    emit_string_if(e, "host", r->host);
    emit_number(e, "pid", (uint64_t)r->pid);
    emit_string(e, "kind", r->kind);
    emit_string_if(e, "s1", r->s1);
    emit_string_if(e, "s2", r->s2);
    emit_string(e, "state", r->state);
    emit_number(e, "started_ms", (uint64_t)r->started_ms);
    if (r->ended_ms) {
        emit_number(e, "ended_ms", (uint64_t)r->ended_ms);
        emit_number(e, "exit", (uint64_t)r->exit);
    }
    emit_number(e, "sightings", r->sightings);
    emit_close(e);
    return 0;
}

int status_runs_json(struct store *s, int limit, FILE *out, struct error *err)
{
    struct emitter e = { .out = out };
    int r;

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "fleet", 1);
    emit_open(&e, "runs", '[', false);
    r = store_runs(s, limit, show_run, &e, err);
    emit_close(&e);
    emit_close(&e);
    fputc('\n', out);
    return r;
}
