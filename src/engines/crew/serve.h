/* serve.h - answer questions of another process (the other side of crew.h)
 *
 * A server reads the trace that it is told, makes the same view and predictor
 * as the asking process would, and answers shares of questions: every thread
 * on a connection of its own.
 *
 *     struct server *s = server_new(&options, &hooks);
 *     server_run(s, fd);      in each thread; returns when the connection ends
 *     server_free(s);         after all threads
 *
 * A trace that cannot be read here, or is another one, is refused.
 */
#ifndef HEDDLE_ENGINES_CREW_SERVE_H
#define HEDDLE_ENGINES_CREW_SERVE_H

#include "engines/engine.h"
#include "trace/trace.h"

struct server_hooks {
    /* Open the trace as the asking process does, options of the command line included. */
    struct trace *(*open)(void *arg, const char *path, struct error *err);
    /* Called once for each trace that cannot be used, with the reason. */
    void (*complain)(void *arg, const char *why);
    void *arg;
};

struct server;

/* Both borrowed. */
struct server *server_new(const struct engine_options *options, const struct server_hooks *hooks);
void server_free(struct server *s);
void server_run(struct server *s, int fd);

#endif
