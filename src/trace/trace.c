/* trace.c - open a trace of any format, and read it checked
 *
 * Finds the format, then stands between the source and everybody else: each
 * batch gets its position and goes through check_trace.c. The format is found by
 * content: the two binary formats have magic bytes; of the text formats each
 * has lines that the others do not have. Only where the content fits several
 * or none of them does the name decide.
 */
#include "trace/trace.h"
#include "trace/check/check_trace.h"
#include "trace/calls/exclude.h"
#include "trace/hdl/format.h"
#include "trace/text/input.h"
#include "trace/load.h"
#include "trace/calls/reach.h"
#include "trace/source.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* RoadRunner logs may open with pages of other output; 64 KiB is a few hundred lines, and
 * fits the first window of every kind of input. */
enum { SNIFF_BYTES = 64 * 1024 };

enum { HELD_BATCH = 4096 /* as sources have them */ };

enum format {
    FORMAT_NONE = 0,
    FORMAT_STD = 1,
    FORMAT_RR = 2,
    FORMAT_CSV = 4,
    FORMAT_RVP,
    FORMAT_HDL
};

const char *const trace_order_names[3] = { "exact", "sync-exact", "unknown" };

struct trace {
    char *path; /* owned; the file, also when a directory was given */
    struct source *source;
    struct tables tables;
    struct trace_info info;
    struct diags diags;
    struct reach *reach;
    bool keep_lists;         /* lists of calls stay as they are in the file */
    bool raw_lists;          /* some lists need what came before them */
    bool in_step;            /* `reach` has seen all that the source has delivered */
    struct exclude *exclude; /* NULL: all code is in */
    bool shows_excluded;     /* for now it is all the same */
    struct check *check;
    uint64_t position;                       /* of the next event */
    uint64_t source_position;                /* of the first event of the source's next batch */
    bool windowed;                           /* the source is somewhere else than check_trace.c */
    bool following;                          /* the end of what there is need not be the end */
    bool holds;                              /* the events are in memory: */
    struct trace_mem held;                   /* owned */
    uint64_t in_file;                        /* events, while some are held */
    const struct trace_selection *selection; /* NULL: all events */
    uint64_t all;                            /* events, while only some are selected */
    uint64_t selected;                       /* delivered of these */
    size_t muted;                            /* of these */
    struct event *kept;                      /* those of a batch */
    size_t kept_cap;
};

/* Recognising text. */

static bool is_blank_or_comment(const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\r'))
        line++;
    return line == end || *line == '#';
}

/* "@ Op(": a line of RoadRunner's print tool. */
static bool is_rr_line(const char *p, const char *end)
{
    const char *word;

    if (end - p < 4 || p[0] != '@' || (p[1] != ' ' && p[1] != '\t'))
        return false;
    for (p++; p < end && (*p == ' ' || *p == '\t'); p++)
        ; /* indented by the depth of calls */
    for (word = p; p < end && isalpha((unsigned char)*p); p++)
        ;
    return p > word && p < end && *p == '(';
}

/* "digits,OP,": a line of the SSHB prototype. */
static bool is_csv_line(const char *p, const char *end)
{
    const char *start = p;

    while (p < end && isdigit((unsigned char)*p))
        p++;
    if (p == start || p == end || *p++ != ',')
        return false;
    start = p;
    while (p < end && isupper((unsigned char)*p))
        p++;
    return p > start && p < end && *p == ',';
}

/* The formats that the text may be, as bits: what its first event line looks like, and
 * RoadRunner if any line is one of its. A last line cut by the end of the window counts. */
static unsigned text_formats(const char *data, size_t len)
{
    const char *end = data + len;
    unsigned formats = 0;
    bool first = true;

    for (const char *p = data, *eol; p < end; p = eol + 1) {
        eol = memchr(p, '\n', (size_t)(end - p));
        if (!eol)
            eol = end;
        if (is_rr_line(p, eol))
            return formats | FORMAT_RR;
        if (!first || is_blank_or_comment(p, eol))
            continue;
        first = false;
        if (is_csv_line(p, eol))
            formats |= FORMAT_CSV;
        else if (memchr(p, '|', (size_t)(eol - p)) && !memchr(p, 0, (size_t)(eol - p)))
            formats |= FORMAT_STD;
    }
    return formats;
}

static bool ends_with(const char *s, size_t n, const char *ending)
{
    size_t k = strlen(ending);

    return n > k && !memcmp(s + n - k, ending, k);
}

/* The text format a name speaks of, whatever compression follows it. */
static enum format name_format(const char *path)
{
    size_t n = strlen(path);

    if (ends_with(path, n, ".gz"))
        n -= 3;
    else if (ends_with(path, n, ".zst"))
        n -= 4;
    if (ends_with(path, n, ".std"))
        return FORMAT_STD;
    if (ends_with(path, n, ".rr"))
        return FORMAT_RR;
    return ends_with(path, n, ".csv") ? FORMAT_CSV : FORMAT_NONE;
}

/* Also a file that was cut off within the magic bytes, or before them. */
static bool is_hdl(const char *path, const char *data, size_t len)
{
    size_t n = strlen(HDL_MAGIC);

    if (!len)
        return ends_with(path, strlen(path), ".hdl");
    return !memcmp(data, HDL_MAGIC, len < n ? len : n);
}

static enum format sniff(const char *path, const char *data, size_t len)
{
    enum format named = name_format(path);
    unsigned text;

    if (is_hdl(path, data, len))
        return FORMAT_HDL;
    if (len >= 4 && !memcmp(data, "RVP_", 4))
        return FORMAT_RVP;
    text = text_formats(data, len < SNIFF_BYTES ? len : SNIFF_BYTES);
    if (text == FORMAT_STD || text == FORMAT_RR || text == FORMAT_CSV)
        return (enum format)text;
    if (named && (!text || text & named))
        return named;
    if (text)
        return FORMAT_RR; /* its lines are the least likely by accident */
    return len && memchr(data, 0, len) ? FORMAT_NONE : FORMAT_STD;
}

/* Opening. */

static struct source *open_source(struct trace *t, struct input *in, enum format format,
                                  struct error *err)
{
    switch (format) {
    case FORMAT_STD:
        return std_open(in, &t->tables, &t->info, err);
    case FORMAT_RR:
        return rr_open(in, &t->tables, &t->info, err);
    case FORMAT_CSV:
        return csv_open(in, &t->tables, &t->info, err);
    case FORMAT_RVP:
        return rvp_open(in, &t->tables, &t->info, err);
    case FORMAT_HDL:
        input_close(in);
        return hdl_open(t->path, &t->tables, &t->info, err);
    case FORMAT_NONE:
        break;
    }
    input_close(in);
    error_set(err, "not a trace in any known format");
    return NULL;
}

static struct source *open_any(struct trace *t, struct error *err)
{
    struct input *in = input_open(t->path, err);
    const char *data = NULL;
    size_t len = 0;
    bool eof;

    if (!in)
        return NULL;
    if (input_peek(in, SNIFF_BYTES, &data, &len, &eof, err) < 0) {
        input_close(in);
        return NULL;
    }
    return open_source(t, in, sniff(t->path, data, len), err);
}

/* The one .hdl file in a directory, or NULL. */
static char *file_in_directory(const char *path, struct error *err)
{
    DIR *dir = opendir(path);
    char *found = NULL;
    unsigned count = 0;

    if (!dir) {
        error_set(err, "%s", strerror(errno));
        return NULL;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        if (!ends_with(e->d_name, strlen(e->d_name), ".hdl"))
            continue;
        if (!count++)
            found = xasprintf("%s/%s", path, e->d_name);
    }
    closedir(dir);
    if (count == 1)
        return found;
    free(found);
    if (count)
        error_set(err, "a directory with %u .hdl files, name one of them", count);
    else
        error_set(err, "a directory without an .hdl file");
    return NULL;
}

static char *resolve_path(const char *path, struct error *err)
{
    struct stat st;

    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return file_in_directory(path, err);
    return xstrndup(path, strlen(path));
}

struct trace *trace_open(const char *path, struct error *err)
{
    struct trace *t = xcalloc(1, sizeof(*t));

    t->path = resolve_path(path, err);
    invariant_subject(t->path);
    if (t->path)
        t->source = open_any(t, err);
    if (!t->source) {
        error_prefix(err, "cannot read '%s'", path);
        trace_close(t);
        return NULL;
    }
    t->info.format = t->source->ops->format;
    t->reach = reach_new(&t->tables, &t->info);
    t->in_step = true;
    t->check = check_new(&t->tables, &t->info, &t->diags);
    return t;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    if (t->source)
        t->source->ops->close(t->source);
    reach_free(t->reach);
    exclude_free(t->exclude);
    check_free(t->check);
    diags_release(&t->diags);
    tables_release(&t->tables);
    trace_mem_release(&t->held);
    free(t->kept);
    free(t->path);
    free(t);
}

/* Reading. */

const struct trace_info *trace_info(const struct trace *t)
{
    return &t->info;
}

const struct tables *trace_tables(const struct trace *t)
{
    return &t->tables;
}

const struct diags *trace_diags(const struct trace *t)
{
    return &t->diags;
}

void trace_keep_lists(struct trace *t)
{
    t->keep_lists = true;
}

/* The source's next batch, with complete lists of calls. */
static int next_batch(struct trace *t, struct batch *out, struct error *err)
{
    int r = t->source->ops->next(t->source, out, err);

    if (r > 0 && !t->keep_lists)
        reach_batch(t->reach, out);
    return r;
}

static int rewind_source(struct trace *t, struct error *err)
{
    reach_rewind(t->reach);
    t->in_step = true;
    t->source_position = 0;
    return t->source->ops->rewind(t->source, err);
}

/* Of what is held; a copy, since readers mark events. */
static int next_held(struct trace *t, struct batch *out)
{
    size_t left = t->held.count - t->position, n = left < HELD_BATCH ? left : HELD_BATCH;

    if (!n)
        return 0;
    GROW(t->kept, t->kept_cap, n);
    memcpy(t->kept, t->held.events + t->position, n * sizeof(*t->kept));
    *out = (struct batch){ t->kept, n, t->position, t->held.extra };
    t->position += n;
    return 1;
}

/* The next batch of all events, checked. */
static int next_checked(struct trace *t, struct batch *out, struct error *err)
{
    int r;

    if (t->holds)
        return next_held(t, out);
    if (t->windowed)
        return error_set(err, "cannot read '%s': not rewound after a window", t->path);
    r = next_batch(t, out, err);
    if (r < 0)
        return error_prefix(err, "cannot read '%s'", t->path);
    if (!r) {
        if (!t->following)
            check_finish(t->check);
        return 0;
    }
    out->first = t->position;
    if (t->exclude && !t->shows_excluded)
        exclude_batch(t->exclude, out);
    check_batch(t->check, out);
    t->position += out->count + out->skipped;
    t->source_position = t->position;
    /* A second pass does not make the trace shorter. */
    if (t->position > t->info.events && !t->selection)
        t->info.events = t->position;
    return 1;
}

/* Values of reads decide about the order, and whose code is left out is found by all events. */
void trace_thin(struct trace *t, const struct trace_thin *thin)
{
    bool may = !t->info.values && !t->exclude && !t->selection && !t->keep_lists;

    if (t->source->ops->thin)
        t->source->ops->thin(t->source, may ? thin : NULL);
}

/* An event as it is selected. */
static struct event selected_event(struct trace *t, const struct event *e, uint64_t position)
{
    const struct trace_selection *s = t->selection;
    struct event relaxed = *e;

    if (t->muted == s->nmuted || s->muted[t->muted].position != position)
        return *e;
    relaxed.order = order_releases(e->order) && e->op != OP_LOAD ? ORDER_RELEASE : ORDER_RELAXED;
    if (s->muted[t->muted++].relaxed)
        return relaxed;
    return (struct event){ .op = OP_ENTER, .thread = e->thread, .site = e->site };
}

/* Of the batch only what is selected. */
static void keep_selected(struct trace *t, struct batch *b)
{
    size_t n = 0;

    GROW(t->kept, t->kept_cap, b->count);
    for (size_t i = 0; i < b->count && b->first + i < t->selection->end; i++)
        if (trace_selects(t->selection, b->first + i))
            t->kept[n++] = selected_event(t, &b->events[i], b->first + i);
    b->events = t->kept;
    b->count = n;
    b->first = t->selected;
    t->selected += n;
}

int trace_next(struct trace *t, struct batch *out, struct error *err)
{
    int r;

    if (!t->selection)
        return next_checked(t, out, err);
    do {
        if (t->position >= t->selection->end)
            return 0;
        r = next_checked(t, out, err);
        if (r <= 0)
            return r;
        keep_selected(t, out);
    } while (!out->count);
    return 1;
}

void trace_select(struct trace *t, const struct trace_selection *s)
{
    if (!t->selection)
        t->all = t->info.events;
    t->selection = s;
    t->info.events = s ? s->count : t->all;
}

void trace_hold(struct trace *t, struct trace_mem *events)
{
    invariant(!t->holds && !t->selection);
    t->holds = true;
    t->held = *events;
    *events = (struct trace_mem){ 0 };
    t->in_file = t->info.events;
    t->info.events = t->held.count;
}

void trace_let_go(struct trace *t)
{
    if (!t->holds)
        return;
    invariant(!t->selection);
    t->holds = false;
    trace_mem_release(&t->held);
    t->info.events = t->in_file;
}

void trace_shorten(struct trace *t, size_t count)
{
    invariant(t->holds && !t->selection && count <= t->held.count);
    t->held.events = xrealloc(t->held.events, count + !count, sizeof(*t->held.events));
    t->held.count = count;
    t->info.events = count;
}

uint64_t trace_held_of(const struct trace *t)
{
    return t->in_file;
}

int trace_rewind(struct trace *t, struct error *err)
{
    t->position = 0;
    t->selected = 0;
    t->muted = 0;
    if (t->holds)
        return 0;
    if (rewind_source(t, err) < 0)
        return error_prefix(err, "cannot read '%s' again", t->path);
    t->windowed = false;
    check_rewind(t->check);
    return 0;
}

int trace_follow(struct trace *t, bool over)
{
    t->following = !over;
    reach_follow(t->reach); /* a program that does not end */
    return t->source->ops->follow ? t->source->ops->follow(t->source, over) : -1;
}

void trace_limit(struct trace *t, uint64_t stamp)
{
    t->source->ops->limit(t->source, stamp);
}

uint32_t trace_seam(const struct trace *t, struct seam *c)
{
    reach_seam(t->reach, c);
    return t->source->ops->seam(t->source, c);
}

void trace_show_excluded(struct trace *t, bool show)
{
    t->shows_excluded = show;
}

const struct exclude_stats *trace_excluded(const struct trace *t)
{
    return t->exclude ? exclude_stats(t->exclude) : NULL;
}

/* The first pass of the stage that leaves code out: what do its calls touch? */
static int learn_excluded(struct trace *t, struct exclude *x, struct error *err)
{
    uint64_t position = 0;
    struct batch b;
    int r;

    while ((r = next_batch(t, &b, err)) > 0) {
        b.first = position;
        exclude_learn(x, &b);
        position += b.count;
    }
    exclude_ready(x);
    return r < 0 ? error_prefix(err, "cannot read '%s'", t->path) : 0;
}

int trace_exclude(struct trace *t, struct globs *globs, struct exclude_stats *stats,
                  struct error *err)
{
    struct exclude *x = exclude_new(globs, &t->tables, t->info.order);
    int r = trace_rewind(t, err);

    exclude_free(t->exclude);
    t->exclude = x;
    if (r == 0)
        r = learn_excluded(t, x, err);
    *stats = *exclude_stats(x);
    return r < 0 ? r : trace_rewind(t, err);
}

/* Windows. */

/* Let the source's next batch start at the position or before it. */
static int go_to(struct trace *t, uint64_t position, struct error *err)
{
    const struct source_ops *ops = t->source->ops;

    if (ops->seek && !t->raw_lists) {
        t->in_step = false;
        return ops->seek(t->source, position, err);
    }
    if (position >= t->source_position && t->in_step)
        return 0;
    return rewind_source(t, err);
}

/* A list that only makes sense with what came before? Then windows cannot jump. */
static bool has_raw_lists(const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].op == OP_CALL && reach_is_raw(&b->events[i], b->extra))
            return true;
    return false;
}

/* The next batch for a window. Not in step: the lists are as they are in the file. */
static int next_for_window(struct trace *t, struct batch *b, struct error *err)
{
    int r;

    if (t->in_step)
        return next_batch(t, b, err);
    r = t->source->ops->next(t->source, b, err);
    t->raw_lists |= r > 0 && !t->keep_lists && has_raw_lists(b);
    return r;
}

/* Add what the batch and the window have in common. */
static void add_overlap(struct loader *l, const struct batch *b, uint64_t first, uint64_t end)
{
    uint64_t from = b->first > first ? b->first : first;
    uint64_t to = b->first + b->count < end ? b->first + b->count : end;

    if (from < to)
        loader_add(l, b, (size_t)(from - b->first), (size_t)(to - from));
}

static int load_window(struct trace *t, uint64_t first, uint64_t end, struct loader *l,
                       struct error *err)
{
    struct batch b;
    int r;

    if (go_to(t, first, err) < 0)
        return -1;
    do {
        r = next_for_window(t, &b, err);
        if (t->raw_lists && !t->in_step) { /* in step, then */
            trace_mem_release(&l->mem);
            loader_release(l);
            *l = (struct loader){ 0 };
            return load_window(t, first, end, l, err);
        }
        if (r <= 0) {
            t->source_position = UINT64_MAX; /* from here one can only start again */
            return r;
        }
        if (t->exclude)
            exclude_batch(t->exclude, &b);
        add_overlap(l, &b, first, end);
        t->source_position = b.first + b.count;
    } while (t->source_position < end);
    return 0;
}

int trace_window(struct trace *t, uint64_t first, size_t count, struct trace_mem *out,
                 struct error *err)
{
    uint64_t end = first + count < first ? UINT64_MAX : first + count;
    struct loader l = { 0 };
    int r = 0;

    t->windowed = true;
    if (first < end && load_window(t, first, end, &l, err) < 0) {
        trace_mem_release(&l.mem);
        r = error_prefix(err, "cannot read '%s'", t->path);
    }
    loader_release(&l);
    *out = l.mem;
    return r;
}
