/* linesource.h - the common part of the sources whose lines are read one by one
 *
 * RoadRunner logs and the SSHB prototype's CSV differ only in what a line
 * says. A format gives one function that reads a line; batches, positions,
 * names and rewinding are here.
 */
#ifndef HEDDLE_TRACE_TEXT_LINESOURCE_H
#define HEDDLE_TRACE_TEXT_LINESOURCE_H

#include "trace/text/lines.h"
#include "trace/text/scan.h"
#include "trace/source.h"

struct linesource {
    struct source base;
    struct lines lines;
    struct name_cache threads, variables, objects, functions, sites;
    uint64_t position;
    struct event *events;
    bool comments; /* blank lines and '#' lines are skipped, control characters refused */

    /* Called for each line: 1 and the event (zeroed before), 0 where the line is none, -1 and
     * an error that does not name the line. `text` is readable INPUT_PADDING bytes further. */
    int (*parse)(struct linesource *s, const char *text, size_t len, struct event *ev,
                 struct error *err);
};

/* Takes over the input. The format name is borrowed. */
struct source *linesource_open(struct input *in, struct tables *t, struct trace_info *i,
                               const struct source_ops *ops, bool comments,
                               int (*parse)(struct linesource *, const char *, size_t,
                                            struct event *, struct error *));

/* The three functions of the format's source_ops. */
int linesource_next(struct source *base, struct batch *out, struct error *err);
int linesource_rewind(struct source *base, struct error *err);
void linesource_close(struct source *base);

/* Threads of these formats are numbers; "7" becomes "T7", other names stay. */
uint32_t linesource_thread(struct linesource *s, const char *p, size_t n);
uint64_t linesource_variable(struct linesource *s, const char *p, size_t n);
uint64_t linesource_object(struct linesource *s, const char *p, size_t n);
uint32_t linesource_function(struct linesource *s, const char *p, size_t n);
uint32_t linesource_site(struct linesource *s, const char *p, size_t n);

#endif
