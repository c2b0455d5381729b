/* hdl_read.c - .hdl files as a source of events
 *
 * Merged files are decoded chunk by chunk. Files with per-thread chunks go
 * through merge.c. What cannot be read ends the trace early and is told in
 * trace_info.loss: the good part is still worth analysing.
 */
#include "trace/source.h"
#include "base/alloc.h"
#include "trace/codec.h"
#include "trace/hdl_file.h"
#include "trace/merge.h"

#include <stdlib.h>

/* Events per batch: 160 KiB, so that a batch and its steps stay in the L2 cache. */
enum { BATCH_EVENTS = 4096 };

struct hdl_source {
    struct source source; /* must be first */
    struct hdl_file file;
    struct decoder decoder;
    struct merge *merge; /* per-thread layout only */
    size_t chunk;        /* next one to decode */
    uint64_t position;
    bool at_end;
    struct event events[BATCH_EVENTS];
};

static void note_progress(struct hdl_source *s)
{
    if (s->chunk < s->file.count)
        s->source.info->bytes_read = s->file.chunks[s->chunk].offset;
    else
        s->source.info->bytes_read = s->file.size;
}

static void lose(struct hdl_source *s, size_t chunk, const char *why)
{
    s->at_end = true;
    hdl_file_lost(&s->file, chunk, why, s->source.info);
}

/* Make the decoder ready for the next chunk of events. False: there is none. */
static bool next_chunk(struct hdl_source *s)
{
    struct error err;

    for (; s->chunk < s->file.count; s->chunk++) {
        const struct hdl_chunk_header *h = &s->file.chunks[s->chunk].header;
        const uint8_t *payload;

        if (h->kind != HDL_MERGED)
            continue;
        if (h->first != s->position) {
            lose(s, s->chunk, "events are missing before it");
            return false;
        }
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

/* Where the file itself stops: found when it is opened. */
static void note_cut(struct hdl_source *s)
{
    const struct hdl_file *f = &s->file;

    if (f->complete)
        return;
    hdl_file_lost(f, f->count, "no end mark: the recording was cut off or is still running",
                  s->source.info);
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

static void hdl_close(struct source *source)
{
    struct hdl_source *s = (struct hdl_source *)source;

    merge_free(s->merge);
    decoder_release(&s->decoder);
    hdl_file_close(&s->file);
    free(s);
}

static const struct source_ops hdl_ops = {
    .format = "hdl", .next = hdl_next, .rewind = hdl_rewind, .close = hdl_close
};

static void fill_info(struct hdl_source *s)
{
    struct trace_info *info = s->source.info;

    info->format = "hdl";
    info->order = (enum trace_order)s->file.header.order;
    info->bytes_total = s->file.size;
    for (size_t i = 0; i < s->file.count; i++)
        if (s->file.chunks[i].header.kind <= HDL_THREAD)
            info->expected_events += s->file.chunks[i].header.count;
}

struct source *hdl_open(const char *path, struct tables *t, struct trace_info *info,
                        struct error *err)
{
    struct hdl_source *s = xcalloc(1, sizeof(*s));

    s->source = (struct source){ &hdl_ops, t, info };
    if (hdl_file_open(&s->file, path, err) < 0 || hdl_file_names(&s->file, t, err) < 0) {
        hdl_close(&s->source);
        return NULL;
    }
    fill_info(s);
    note_cut(s);
    if (s->file.header.required & HDL_FEATURE_THREADS)
        s->merge = merge_new(&s->file, t, info);
    return &s->source;
}
