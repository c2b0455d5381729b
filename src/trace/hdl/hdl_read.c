/* hdl_read.c - .hdl files as a source of events
 *
 * Merged files are decoded chunk by chunk. Files with per-thread chunks go
 * through merge.c. What cannot be read ends the trace early and is told in
 * trace_info.loss: the good part is still worth analysing.
 * A window of a merged file is found by its chunk; merging must start at the
 * beginning, because what an object has seen is known only then.
 */
#include "trace/source.h"
#include "base/alloc.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/hdl_file.h"
#include "trace/hdl/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events per batch: 160 KiB, so that a batch and its steps stay in the L2 cache. */
enum { BATCH_EVENTS = 4096 };

struct hdl_source {
    struct source source; /* must be first */
    struct hdl_file file;
    struct decoder decoder;
    struct merge *merge; /* per-thread layout only */
    char *path;          /* likewise */
    size_t chunk;        /* next one to decode */
    size_t usable;       /* chunks before the first whose payload was found damaged */
    uint64_t position;
    bool at_end;
    struct event events[BATCH_EVENTS];
};

static void note_progress(struct hdl_source *s)
{
    if (s->chunk < s->file.count)
        s->source.info->bytes_read = hdl_file_chunk(&s->file, s->chunk)->offset;
    else
        s->source.info->bytes_read = s->file.size;
}

static void lose(struct hdl_source *s, size_t chunk, const char *why)
{
    s->at_end = true;
    s->usable = chunk;
    hdl_file_lost(&s->file, chunk, why, s->source.info);
}

/* Make the decoder ready for the next chunk of events. False: there is none. */
static bool next_chunk(struct hdl_source *s)
{
    struct error err;

    for (; s->chunk < s->file.count; s->chunk++) {
        const struct hdl_chunk_header *h = &hdl_file_chunk(&s->file, s->chunk)->header;
        const uint8_t *payload;

        if (h->kind != HDL_MERGED)
            continue;
        payload = hdl_file_payload(&s->file, s->chunk, &err);
        if (!payload || decoder_start(&s->decoder, h, payload, &err) < 0) {
            lose(s, s->chunk, err.text);
            return false;
        }
        s->chunk++;
        note_progress(s);
        return true;
    }
    return false;
}

static int merged_next(struct hdl_source *s, struct batch *out)
{
    struct error err;
    long n = 0;

    while (!s->at_end) {
        n = decoder_next(&s->decoder, s->source.tables, s->events, BATCH_EVENTS, NULL, NULL, &err);
        if (n > 0)
            break;
        if (n < 0)
            lose(s, s->chunk - 1, err.text);
        else if (!next_chunk(s))
            s->at_end = true;
    }
    if (n <= 0)
        return 0;
    *out = (struct batch){ s->events, (size_t)n, s->position, s->decoder.extra };
    s->position += (uint64_t)n;
    return 1;
}

static int hdl_next(struct source *source, struct batch *out, struct error *err)
{
    struct hdl_source *s = (struct hdl_source *)source;

    (void)err; /* damage is a loss, not an error */
    if (s->merge)
        return merge_next(s->merge, out);
    return merged_next(s, out);
}

static int hdl_rewind(struct source *source, struct error *err)
{
    struct hdl_source *s = (struct hdl_source *)source;

    (void)err;
    s->chunk = 0;
    s->position = 0;
    s->at_end = false;
    s->decoder.count = s->decoder.done = 0;
    if (s->merge)
        merge_rewind(s->merge);
    return 0;
}

/* The last chunk that starts at or before the position. Where chunks start at the same one,
 * the events are in the last of them. */
static size_t chunk_at(const struct hdl_file *f, uint64_t position)
{
    size_t low = 0, high = f->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (f->chunks[middle].before <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

static int hdl_seek(struct source *source, uint64_t position, struct error *err)
{
    struct hdl_source *s = (struct hdl_source *)source;
    size_t chunk = chunk_at(&s->file, position);

    hdl_rewind(source, err);
    if (chunk > s->usable) {
        s->at_end = true;
    } else if (chunk < s->file.count) {
        s->chunk = chunk;
        s->position = s->file.chunks[chunk].before;
    }
    return 0;
}

static int hdl_follow(struct source *source, bool over)
{
    struct hdl_source *s = (struct hdl_source *)source;
    size_t known = s->file.count;

    if (s->file.fd < 0) {
        if (hdl_file_follow(&s->file, s->path) < 0)
            return -1;
        merge_follow(s->merge);
    }
    hdl_file_grow(&s->file, s->source.tables);
    merge_more(s->merge, known, over);
    return hdl_file_is_overtaken(&s->file) || merge_has_lost(s->merge) ? -1 : 0;
}

static void hdl_limit(struct source *source, uint64_t stamp)
{
    merge_limit(((struct hdl_source *)source)->merge, stamp);
}

static uint32_t hdl_seam(const struct source *source, struct seam *c)
{
    const struct hdl_source *s = (const struct hdl_source *)source;
    size_t chunk = merge_seam(s->merge, c);

    return (uint32_t)(chunk - s->file.past + s->file.start.number);
}

static void hdl_close(struct source *source)
{
    struct hdl_source *s = (struct hdl_source *)source;

    merge_free(s->merge);
    free(s->path);
    decoder_release(&s->decoder);
    hdl_file_close(&s->file);
    free(s);
}

static void hdl_thin(struct source *source, const struct trace_thin *thin)
{
    merge_thin(((struct hdl_source *)source)->merge, thin);
}

static const struct source_ops merged_ops = {
    .format = "hdl", .next = hdl_next, .rewind = hdl_rewind, .seek = hdl_seek, .close = hdl_close
};

static const struct source_ops threads_ops = { .format = "hdl",
                                               .next = hdl_next,
                                               .rewind = hdl_rewind,
                                               .follow = hdl_follow,
                                               .limit = hdl_limit,
                                               .seam = hdl_seam,
                                               .thin = hdl_thin,
                                               .close = hdl_close };

/* A recording that ended before its process says why: that is the loss, whatever else shows it. */
static void note_stop(const struct process *p, struct trace_info *info)
{
    for (size_t i = 0; i < p->nnotes; i++) {
        if (strncmp(p->notes[i], PROCESS_STOPPED, strlen(PROCESS_STOPPED)) != 0)
            continue;
        snprintf(info->loss, sizeof(info->loss), "%.250s", p->notes[i]);
        return;
    }
}

static void fill_info(struct hdl_source *s)
{
    struct trace_info *info = s->source.info;

    info->format = "hdl";
    info->order = (enum trace_order)s->file.header.order;
    info->bytes_total = s->file.size;
    info->expected_events = s->file.events;
    if (s->file.stop[0])
        hdl_file_lost(&s->file, s->file.count, s->file.stop, info);
    note_stop(&s->source.tables->process, info);
}

static uint64_t last_stamp(const struct hdl_file *f)
{
    uint64_t last = 0;

    for (size_t i = f->past; i < f->count; i++)
        if (hdl_file_chunk(f, i)->header.stamp_last > last)
            last = hdl_file_chunk(f, i)->header.stamp_last;
    return last;
}

struct source *hdl_open(const char *path, struct tables *t, struct trace_info *info,
                        struct error *err)
{
    struct hdl_source *s = xcalloc(1, sizeof(*s));

    s->source = (struct source){ &merged_ops, t, info };
    if (hdl_file_open(&s->file, path, err) < 0) {
        hdl_close(&s->source);
        return NULL;
    }
    hdl_file_names(&s->file, t);
    fill_info(s);
    s->usable = s->file.count;
    if (s->file.header.required & HDL_FEATURE_THREADS) {
        s->source.ops = &threads_ops;
        s->path = xstrndup(path, strlen(path));
        s->merge = merge_new(&s->file, t, info);
        info->expected_events -= merge_gone(s->merge);
        if (t->seam.count)
            seam_add(&t->seam, SEAM_EVENTS, SEAM_LAST, last_stamp(&s->file));
    }
    return &s->source;
}
