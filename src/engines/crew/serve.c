/* serve.c - answer questions of another process */
#include "engines/crew/serve.h"
#include "base/alloc.h"
#include "base/frame.h"
#include "engines/crew/remote.h"
#include "engines/whole.h"
#include "engines/whole_run.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Models of a trace that are kept though nobody uses them: engines take turns, windows do not. */
enum { MODELS_KEPT = 4 };

/* A predictor for one scope; threads work with clones of it, one with itself. */
struct model_seat {
    struct scope scope;
    struct predictor *first; /* NULL: the scope cannot be had */
    bool first_taken;
    unsigned threads, most; /* that have one; that may */
};

/* A trace at hand. */
struct station {
    unsigned users; /* threads, and the server while it is the present one */
    struct remote_trace key;
    struct trace *trace;
    struct whole *whole; /* NULL: it cannot be used */
    uint64_t events;
    struct engine engine; /* stands for the one that asks */
    struct model_seat *models;
    size_t nmodels, models_cap;
};

struct server {
    const struct engine_options *options;
    const struct server_hooks *hooks;
    pthread_mutex_t lock; /* of all here but the threads' own predictors; held while loading */
    struct station *station;
};

/* A thread. */
struct servant {
    struct server *server;
    int fd;
    struct station *station; /* that its predictor is of */
    size_t model;
    struct predictor *predictor; /* NULL: none yet */
    struct prove_share share;
};

/* ---- the trace ---- */

static int read_through(struct trace *t, struct error *err)
{
    struct batch unused;
    int r;

    while ((r = trace_next(t, &unused, err)) > 0)
        ;
    return r;
}

static int check_key(const struct remote_trace *key, struct error *err)
{
    struct remote_trace here = { 0 };
    int r = remote_trace_read(&here, key->path, err);

    if (r == 0 && (here.bytes != key->bytes || here.hash != key->hash))
        r = error_set(err,
                      "'%s' is not the trace of rank 0: %" PRIu64 " bytes, hash %016" PRIx64
                      ", not %" PRIu64 " bytes, hash %016" PRIx64,
                      key->path, here.bytes, here.hash, key->bytes, key->hash);
    remote_trace_release(&here);
    return r;
}

/* Only after a whole pass is it known what the trace has (values, branches). */
static int serve_load(struct server *v, struct station *s, struct error *err)
{
    const struct trace_mem *events;

    if (check_key(&s->key, err) < 0)
        return -1;
    s->trace = v->hooks->open(v->hooks->arg, s->key.path, err);
    if (!s->trace || read_through(s->trace, err) < 0)
        return -1;
    s->whole = whole_new(s->trace, NULL, NULL, v->options, NULL);
    whole_begin(s->whole, &s->engine, UINT64_MAX);
    events = whole_events(s->whole, err);
    if (events) {
        s->events = events->count;
        return 0;
    }
    whole_free(s->whole);
    s->whole = NULL;
    return -1;
}

/* With the lock held. */
static void put_station(struct station *s)
{
    if (!s || --s->users)
        return;
    for (size_t i = 0; i < s->nmodels; i++)
        predictor_free(s->models[i].first);
    free(s->models);
    whole_free(s->whole);
    trace_close(s->trace);
    remote_trace_release(&s->key);
    free(s);
}

static bool is_present(const struct server *v, const struct remote_trace *t)
{
    const struct station *s = v->station;

    return s && s->key.bytes == t->bytes && s->key.hash == t->hash &&
           strcmp(s->key.path, t->path) == 0;
}

/* Takes over the key. The first thread that hears of it loads it, the others wait. */
static void open_trace(struct server *v, struct remote_trace *key)
{
    struct error err;

    pthread_mutex_lock(&v->lock);
    if (is_present(v, key)) {
        remote_trace_release(key);
    } else {
        put_station(v->station);
        v->station = xcalloc(1, sizeof(*v->station));
        *v->station = (struct station){ .users = 1, .key = *key };
        if (serve_load(v, v->station, &err) < 0)
            v->hooks->complain(v->hooks->arg, err.text);
    }
    pthread_mutex_unlock(&v->lock);
}

/* ---- predictors ---- */

static bool serve_is_same(const struct scope *a, const struct scope *b)
{
    return a->call_rule == b->call_rule && a->first == b->first && a->count == b->count;
}

/* With the lock held: where a new model goes; those of windows that are over make room. */
static size_t free_model(struct station *s)
{
    for (size_t i = 0; s->nmodels >= MODELS_KEPT && i < s->nmodels; i++)
        if (!s->models[i].threads) {
            predictor_free(s->models[i].first);
            return i;
        }
    GROW(s->models, s->models_cap, s->nmodels + 1);
    return s->nmodels++;
}

/* With the lock held. */
static size_t find_model(struct server *v, struct station *s, const struct scope *scope)
{
    struct error err;
    struct model_seat *m;
    size_t i = 0;

    while (i < s->nmodels && !serve_is_same(&s->models[i].scope, scope))
        i++;
    if (i < s->nmodels)
        return i;
    i = free_model(s);
    m = &s->models[i];
    *m = (struct model_seat){ .scope = *scope };
    s->engine.call_rule = (enum call_rule)scope->call_rule;
    if (scope->first <= s->events && scope->count <= s->events - scope->first)
        m->first = scope_predictor(s->whole, scope, &err);
    m->most = m->first ? scope_threads(v->options->jobs, m->first) : 0;
    return i;
}

/* With the lock held. */
static void put_predictor(struct servant *t)
{
    struct model_seat *m;

    if (!t->predictor)
        return;
    m = &t->station->models[t->model];
    m->threads--;
    if (t->predictor == m->first)
        m->first_taken = false;
    else
        predictor_free(t->predictor);
    t->predictor = NULL;
    put_station(t->station);
    t->station = NULL;
}

/* With the lock held. */
static void get_predictor(struct servant *t, size_t model)
{
    struct station *s = t->server->station;
    struct model_seat *m = &s->models[model];

    if (m->threads >= m->most)
        return;
    m->threads++;
    t->predictor = m->first_taken ? predictor_clone(m->first) : m->first;
    m->first_taken = true;
    t->model = model;
    t->station = s;
    s->users++;
}

/* False: not this trace, not this scope, or no memory for another thread. */
static bool serve_prepare(struct servant *t, const struct scope *scope)
{
    struct server *v = t->server;
    struct station *s;

    pthread_mutex_lock(&v->lock);
    s = v->station;
    if (t->predictor && (t->station != s || !serve_is_same(&s->models[t->model].scope, scope)))
        put_predictor(t);
    if (!t->predictor && s && s->whole)
        get_predictor(t, find_model(v, s, scope));
    pthread_mutex_unlock(&v->lock);
    return t->predictor != NULL;
}

/* ---- messages ---- */

static bool are_positions(const struct servant *t)
{
    for (size_t i = 0; i < t->share.count; i++)
        for (size_t k = 0; k < t->share.questions[i].ninstances; k++)
            if (t->share.questions[i].instances[k].first >= t->station->events ||
                t->share.questions[i].instances[k].second >= t->station->events)
                return false;
    return true;
}

static int send_answers(struct servant *t, uint64_t id)
{
    struct buf b = { 0 };
    int r;

    for (size_t i = 0; i < t->share.count; i++)
        question_answer(&t->share.questions[i], t->predictor);
    remote_put_answer(&b, id, &t->share);
    for (size_t i = 0; i < t->share.count; i++)
        free(t->share.questions[i].list);
    if (b.len > FRAME_BYTES_MAX) {
        b.len = 0;
        remote_put_refuse(&b, id, "schedules too long to send");
        r = frame_send(t->fd, REMOTE_REFUSE, b.data, b.len);
    } else {
        r = frame_send(t->fd, REMOTE_ANSWER, b.data, b.len);
    }
    buf_release(&b);
    return r;
}

static int serve_refuse(struct servant *t, uint64_t id)
{
    struct buf b = { 0 };
    int r;

    remote_put_refuse(&b, id, "cannot help with this");
    r = frame_send(t->fd, REMOTE_REFUSE, b.data, b.len);
    buf_release(&b);
    return r;
}

static int handle_ask(struct servant *t, const struct buf *body)
{
    struct instance *instances;
    struct scope scope;
    uint64_t id;
    int r = -1;

    if (!remote_get_ask(body, &id, &scope, &t->share, &instances))
        return -1;
    if (!serve_prepare(t, &scope))
        r = serve_refuse(t, id);
    else if (are_positions(t))
        r = send_answers(t, id);
    free(instances);
    return r;
}

static int handle(struct servant *t, const struct frame *f)
{
    struct remote_trace key;

    if (f->kind == REMOTE_ASK)
        return handle_ask(t, &f->body);
    if (f->kind != REMOTE_OPEN || !remote_get_open(&f->body, &key))
        return -1;
    open_trace(t->server, &key);
    return 0;
}

void server_run(struct server *s, int fd)
{
    struct servant *t = xcalloc(1, sizeof(*t));
    struct frame f = { 0 };

    t->server = s;
    t->fd = fd;
    while (frame_receive(&f, fd, -1) > 0 && handle(t, &f) == 0)
        ;
    frame_release(&f);
    pthread_mutex_lock(&s->lock);
    put_predictor(t);
    pthread_mutex_unlock(&s->lock);
    free(t);
}

/* ---- life cycle ---- */

struct server *server_new(const struct engine_options *options, const struct server_hooks *hooks)
{
    struct server *s = xcalloc(1, sizeof(*s));

    s->options = options;
    s->hooks = hooks;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    put_station(s->station);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
