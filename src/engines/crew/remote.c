/* remote.c - what processes that decide together say to each other */
#include "engines/crew/remote.h"
#include "base/alloc.h"
#include "trace/hdl/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* The part of a message that is still to be read. */
struct reader {
    const uint8_t *p, *end;
};

static struct reader read_from(const struct buf *b)
{
    const uint8_t *data = (const uint8_t *)b->data;

    return (struct reader){ data, data + b->len };
}

static bool remote_take(struct reader *r, uint64_t *v)
{
    return take_varint(&r->p, r->end, v);
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->p);
}

/* ---- the trace ---- */

static int hash_file(int fd, struct remote_trace *t)
{
    enum { PIECE = 1 << 20 };
    XXH3_state_t *state = XXH3_createState();
    char *data = xmalloc(PIECE);
    ssize_t n;

    t->bytes = 0;
    XXH3_64bits_reset(state);
    while ((n = read(fd, data, PIECE)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        XXH3_64bits_update(state, data, (size_t)n);
        t->bytes += (uint64_t)n;
    }
    t->hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(data);
    return n < 0 ? -1 : 0;
}

int remote_trace_read(struct remote_trace *t, const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -1 : hash_file(fd, t);

    if (r < 0)
        error_set(err, "cannot read '%s': %s", path, strerror(errno));
    else
        t->path = xstrndup(path, strlen(path));
    if (fd >= 0)
        close(fd);
    return r;
}

void remote_trace_release(struct remote_trace *t)
{
    free(t->path);
    *t = (struct remote_trace){ 0 };
}

void remote_put_open(struct buf *b, const struct remote_trace *t)
{
    add_varint(b, t->bytes);
    add_varint(b, t->hash);
    add_varint(b, strlen(t->path));
    buf_addstr(b, t->path);
}

bool remote_get_open(const struct buf *b, struct remote_trace *t)
{
    struct reader r = read_from(b);
    const uint8_t *path;
    uint64_t n;

    *t = (struct remote_trace){ 0 };
    if (!remote_take(&r, &t->bytes) || !remote_take(&r, &t->hash) ||
        !take_bytes(&r.p, r.end, &path, &n) || left(&r) || memchr(path, 0, n))
        return false;
    t->path = xstrndup((const char *)path, n);
    return true;
}

/* ---- questions ---- */

void remote_put_ask(struct buf *b, uint64_t id, const struct scope *scope,
                    const struct prove_share *share)
{
    add_varint(b, id);
    add_varint(b, scope->call_rule);
    add_varint(b, scope->first);
    add_varint(b, scope->count);
    add_varint(b, share->count);
    for (size_t i = 0; i < share->count; i++) {
        const struct question *q = &share->questions[i];

        add_varint(b, q->max_events);
        add_varint(b, q->max_list);
        add_varint(b, q->ninstances);
        for (size_t k = 0; k < q->ninstances; k++) {
            add_varint(b, q->instances[k].first);
            add_varint(b, q->instances[k].second);
        }
    }
}

/* The instances stand one after the other in an array of so many. */
static bool get_question(struct reader *r, struct question *q, struct instance *all, size_t *used,
                         size_t most)
{
    uint64_t n;

    *q = (struct question){ .instances = all + *used };
    if (!remote_take(r, &q->max_events) || !remote_take(r, &q->max_list) || !remote_take(r, &n) ||
        n > most - *used)
        return false;
    for (q->ninstances = 0; q->ninstances < n; q->ninstances++) {
        struct instance *in = &all[(*used)++];

        if (!remote_take(r, &in->first) || !remote_take(r, &in->second))
            return false;
    }
    return true;
}

static bool get_scope(struct reader *r, struct scope *scope)
{
    uint64_t rule;

    if (!remote_take(r, &rule) || !remote_take(r, &scope->first) ||
        !remote_take(r, &scope->count) || rule > CALL_RULE_SIMPLE)
        return false;
    scope->call_rule = (uint32_t)rule;
    return true;
}

bool remote_get_ask(const struct buf *b, uint64_t *id, struct scope *scope,
                    struct prove_share *share, struct instance **instances)
{
    struct reader r = read_from(b);
    size_t used = 0, most;
    uint64_t n;
    bool good;

    *instances = NULL;
    share->count = 0;
    if (!remote_take(&r, id) || !*id || !get_scope(&r, scope) || !remote_take(&r, &n) ||
        n > SHARE_MAX)
        return false;
    most = left(&r) / 2; /* each has two bytes or more */
    *instances = xcalloc(most + 1, sizeof(**instances));
    for (good = true; good && share->count < n; share->count++)
        good = get_question(&r, &share->questions[share->count], *instances, &used, most);
    if (good && !left(&r))
        return true;
    free(*instances);
    *instances = NULL;
    return false;
}

/* ---- answers ---- */

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Neighbours in a schedule are mostly neighbours in the trace: a byte or two each. */
static void put_list(struct buf *b, const struct question *q)
{
    uint64_t last = 0;

    add_varint(b, q->count);
    add_varint(b, q->list != NULL);
    for (size_t i = 0; q->list && i < q->count; i++) {
        add_varint(b, zigzag((int64_t)(q->list[i] - last)));
        last = q->list[i];
    }
}

static bool get_list(struct reader *r, struct question *q, uint64_t limit)
{
    uint64_t count, present, step, at = 0;

    if (!remote_take(r, &count) || !remote_take(r, &present) || present > 1)
        return false;
    q->count = count;
    if (!present)
        return true;
    if (count > left(r))
        return false;
    q->list = xmalloc((count + 1) * sizeof(*q->list));
    for (uint64_t i = 0; i < count; i++) {
        if (!remote_take(r, &step))
            return false;
        at += (uint64_t)unzigzag(step);
        if (at >= limit)
            return false;
        q->list[i] = at;
    }
    return true;
}

enum { STATS = sizeof(struct predict_stats) / sizeof(uint64_t) };

static void put_one(struct buf *b, const struct question *q)
{
    size_t which = 0;

    add_varint(b, q->answer);
    for (size_t i = 0; i < STATS; i++)
        add_varint(b, ((const uint64_t *)&q->stats)[i]);
    if (q->answer != PREDICT_FEASIBLE)
        return;
    while (q->instances[which].first != q->feasible.first ||
           q->instances[which].second != q->feasible.second)
        which++;
    add_varint(b, which);
    put_list(b, q);
}

static bool get_one(struct reader *r, struct question *q, uint64_t limit)
{
    uint64_t answer, which;

    q->list = NULL;
    if (!remote_take(r, &answer) || answer > PREDICT_TOO_LONG)
        return false;
    q->answer = (enum predict_answer)answer;
    for (size_t i = 0; i < STATS; i++)
        if (!remote_take(r, &((uint64_t *)&q->stats)[i]))
            return false;
    if (q->answer != PREDICT_FEASIBLE)
        return true;
    if (!remote_take(r, &which) || which >= q->ninstances)
        return false;
    q->feasible = q->instances[which];
    return get_list(r, q, limit);
}

void remote_put_answer(struct buf *b, uint64_t id, const struct prove_share *share)
{
    add_varint(b, id);
    for (size_t i = 0; i < share->count; i++)
        put_one(b, &share->questions[i]);
}

bool remote_get_answer(const struct buf *b, struct prove_share *share, uint64_t limit)
{
    struct reader r = read_from(b);
    uint64_t id;
    bool good = remote_take(&r, &id);
    size_t n = 0;

    while (good && n < share->count)
        good = get_one(&r, &share->questions[n++], limit);
    if (good && !left(&r))
        return true;
    while (n-- > 0) {
        free(share->questions[n].list);
        share->questions[n].list = NULL;
    }
    return false;
}

/* ---- the rest ---- */

void remote_put_refuse(struct buf *b, uint64_t id, const char *why)
{
    add_varint(b, id);
    buf_addstr(b, why);
}

uint64_t remote_get_id(const struct buf *b)
{
    struct reader r = read_from(b);
    uint64_t id;

    return remote_take(&r, &id) ? id : 0;
}
