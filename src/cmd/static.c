/* static.c - heddle static: statically possible pairs of an instrumented program
 *
 * Text for people, JSON for scripts, and the file that caper and the fleet read
 * (docs/format/pairs.md). A big program has millions of pairs: they are written as they come.
 */
#include "base/buf.h"
#include "base/plural.h"
#include "base/seconds.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/site_name.h"
#include "static/static.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const struct options *o;
    struct linked linked;
    struct statics *s;
    struct pairs pairs;
    double seconds;
    FILE *out;
    bool first;
};

/* ---- parts of a site ---- */

static const struct sites_site *site_of(const struct job *j, uint32_t i,
                                        const struct sites_header **h)
{
    *h = linked_find(&j->linked, j->pairs.sites[i].id.module, NULL);
    return sites_site(*h, j->pairs.sites[i].id.index);
}

/* ---- text ---- */

static void print_site(const struct job *j, uint32_t i)
{
    const struct sites_header *h;
    const struct sites_site *s = site_of(j, i, &h);
    struct buf name = { 0 }, line = { 0 };
    const char *variable = sites_string(h, s->variable), *file = sites_string(h, s->file);

    site_name_add(&name, &j->pairs.sites[i].id);
    buf_add_line(&line, s->line, s->column);
    fprintf(j->out, "  %-6s %s%s", site_kind_word(s->kind), *file ? file : "?", line.data);
    if (s->function)
        fprintf(j->out, " in %s", sites_string(h, s->function));
    if (*variable)
        fprintf(j->out, "  %s%s", s->kind == SITE_LIBC ? "calls " : "", variable);
    fprintf(j->out, "  [%s]\n", name.data);
    buf_release(&line);
    buf_release(&name);
}

static bool print_pair(void *arg, uint32_t a, uint32_t b)
{
    struct job *j = arg;

    print_site(j, a);
    if (a == b)
        fprintf(j->out, "  with itself in another thread\n\n");
    else
        print_site(j, b);
    if (a != b)
        fputc('\n', j->out);
    return !ferror(j->out);
}

static void print_summary(const struct job *j)
{
    const struct statics_counters *c = statics_counters(j->s);

    fprintf(j->out, "%" PRIu64 " possible pair%s of %" PRIu64 " site%s (%s)\n", c->pairs,
            plural(c->pairs), c->sites, plural(c->sites),
            j->pairs.lockset ? "refined by locks" : "sound as far as heddle-static(1) says");
    fprintf(j->out,
            "  %" PRIu64 " accesses: %" PRIu64 " in code that no thread reaches, %" PRIu64
            " of memory that is not shared,\n  %" PRIu64 " where no other thread runs, %" PRIu64
            " without a place in the code\n",
            c->accesses, c->unreached, c->private_, c->sequential, c->unplaced);
    fprintf(j->out,
            "  %" PRIu64 " module%s, %" PRIu64 " function%s, %" PRIu64 " thread%s, %" PRIu64
            " object%s (%" PRIu64 " shared), %" PRIu64 " untraced function%s\n",
            c->modules, plural(c->modules), c->functions, plural(c->functions), c->threads,
            plural(c->threads), c->objects, plural(c->objects), c->shared, c->untraced,
            plural(c->untraced));
    if (c->hidden)
        fprintf(j->out,
                "  %" PRIu64
                " site%s may touch memory whose address is stored in parts or in disguise\n",
                c->hidden, plural(c->hidden));
}

static void write_text(struct job *j)
{
    if (!option_is(j->o, OPT_SUMMARY))
        pairs_each(&j->pairs, print_pair, j);
    print_summary(j);
}

/* ---- JSON ---- */

static void json_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void json_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": ", name);
    json_string(out, text);
}

static void json_site(const struct job *j, uint32_t i)
{
    const struct sites_header *h;
    const struct sites_site *s = site_of(j, i, &h);
    struct buf name = { 0 }, file = { 0 };

    site_name_add(&name, &j->pairs.sites[i].id);
    sites_file(h, s->file, &file);
    fprintf(j->out, "%s\n    { \"id\": \"%s\", \"kind\": \"%s\"", i ? "," : "", name.data,
            site_kind_word(s->kind));
    json_member(j->out, "file", file.data ? file.data : "");
    fprintf(j->out, ", \"line\": %" PRIu32 ", \"column\": %u", s->line, s->column);
    json_member(j->out, "function", sites_string(h, s->function));
    json_member(j->out, "variable", sites_string(h, s->variable));
    fprintf(j->out, " }");
    buf_release(&name);
    buf_release(&file);
}

static bool json_pair(void *arg, uint32_t a, uint32_t b)
{
    struct job *j = arg;

    fprintf(j->out, "%s[%" PRIu32 ", %" PRIu32 "]", j->first ? "\n    " : ", ", a, b);
    j->first = false;
    return !ferror(j->out);
}

static void json_counters(const struct job *j)
{
    const struct statics_counters *c = statics_counters(j->s);
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        { "pairs", c->pairs },           { "sites", c->sites },         { "classes", c->classes },
        { "accesses", c->accesses },     { "unreached", c->unreached }, { "private", c->private_ },
        { "sequential", c->sequential }, { "unplaced", c->unplaced },   { "modules", c->modules },
        { "functions", c->functions },   { "facts", c->facts },         { "clones", c->clones },
        { "nodes", c->nodes },           { "edges", c->edges },         { "waves", c->waves },
        { "objects", c->objects },       { "locations", c->locations }, { "shared", c->shared },
        { "threads", c->threads },       { "untraced", c->untraced },   { "hidden", c->hidden },
    };

    fprintf(j->out, "  \"counters\": {");
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        fprintf(j->out, "%s \"%s\": %" PRIu64, i ? "," : "", all[i].name, all[i].value);
    fprintf(j->out, " }");
}

static void write_json(struct job *j)
{
    const struct linked_file *program = &j->linked.files[0];
    const char *name;

    fprintf(j->out, "{ \"schema\": 1");
    json_member(j->out, "program", program->path);
    json_member(j->out, "build_id", program->build_id);
    fprintf(j->out, ", \"variant\": \"%s\", \"seconds\": %.2f,\n  \"libraries\": [",
            j->pairs.lockset ? "lockset" : "sound", j->seconds);
    for (size_t i = 1; i < j->linked.count; i++) {
        fprintf(j->out, "%s", i > 1 ? ", " : " ");
        json_string(j->out, j->linked.files[i].path);
    }
    fprintf(j->out, "],\n  \"untraced\": [");
    for (size_t i = 0; (name = statics_untraced(j->s, i)); i++) {
        fprintf(j->out, "%s", i ? ", " : " ");
        json_string(j->out, name);
    }
    fprintf(j->out, "],\n");
    if (!option_is(j->o, OPT_SUMMARY)) {
        fprintf(j->out, "  \"sites\": [");
        for (uint32_t i = 0; i < j->pairs.nsites; i++)
            json_site(j, i);
        fprintf(j->out, "\n  ],\n  \"pairs\": [");
        j->first = true;
        pairs_each(&j->pairs, json_pair, j);
        fprintf(j->out, "\n  ],\n");
    }
    json_counters(j);
    fprintf(j->out, " }\n");
}

/* ---- the command ---- */

static int open_files(struct job *j)
{
    bool libraries = !option_is(j->o, OPT_NO_LIBRARIES);
    const struct option_list *more = &j->o->lists[OPT_LIBRARY];
    struct error err;

    if (linked_open(&j->linked, j->o->arguments[0], libraries, &err) < 0)
        return bad_input("%s", err.text);
    for (size_t i = 0; i < more->count; i++)
        if (linked_add(&j->linked, more->texts[i], libraries, &err) < 0)
            return bad_input("%s", err.text);
    for (size_t i = 0; i < j->linked.nmissing && !option_is(j->o, OPT_QUIET); i++)
        warn("warning", "library '%s' was not found", j->linked.missing[i]);
    return 0;
}

static int static_analyse(struct job *j)
{
    struct statics_options options = { .lockset = option_is(j->o, OPT_LOCKSET) };
    double start = seconds_now();
    struct error err;

    j->s = statics_open(&j->linked, &err);
    if (!j->s)
        return bad_input("%s", err.text);
    statics_pairs(j->s, &options, &j->pairs);
    j->seconds = seconds_now() - start;
    return 0;
}

static int write_result(struct job *j)
{
    const char *format = j->o->texts[OPT_FORMAT];
    struct outfile out;
    int code = outfile_open(&out, j->o->texts[OPT_OUTPUT], stdout);

    if (code)
        return code;
    j->out = out.file;
    if (strcmp(format, "json") == 0)
        write_json(j);
    else if (strcmp(format, "sites") == 0)
        pairs_write(&j->pairs, out.file);
    else
        write_text(j);
    return outfile_close(&out, true);
}

int cmd_static(const struct options *o)
{
    struct job j = { .o = o };
    int code = open_files(&j);

    if (code == 0)
        code = static_analyse(&j);
    if (code == 0)
        code = write_result(&j);
    pairs_release(&j.pairs);
    statics_close(j.s);
    linked_release(&j.linked);
    return code;
}
