/* subject.c - one small trace with everything the properties are about */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "naive_calls.h"
#include "text_trace.h"
#include "trace/calls/unseen.h"

enum { MAX_STATES = 1000000 };

static void die(const struct subject *s, const struct error *err)
{
    fprintf(stderr, "%scannot analyse this trace: %s\n", s->text.data, err->text);
    abort();
}

static void run_engines(struct subject *s)
{
    struct error err = { "" };

    while (engine_registry[s->nengines])
        s->nengines++;
    if (analysis_run(s->trace, engine_registry, s->nengines, NULL, NULL, &s->analysis, &err) ||
        trace_rewind(s->trace, &err) || trace_load(s->trace, 1 << 16, &s->mem, &err))
        die(s, &err);
    s->info = trace_info(s->trace);
    unseen_mark(&s->mem, s->info, &(struct unseen_input){ .beginning = true });
    for (size_t e = 0; e < s->nengines; e++) {
        const struct race_table *races = &s->analysis.runs[e].result.races;

        pair_set_init(&s->found[e], s->mem.count);
        for (size_t i = 0; i < races->count; i++)
            pair_set_add(&s->found[e], races->races[i].first.position,
                         races->races[i].second.position);
    }
}

static size_t engine_number(const struct subject *s, const struct engine *e)
{
    size_t i = 0;

    while (i < s->nengines && engine_registry[i] != e)
        i++;
    return i < s->nengines ? i : (abort(), 0);
}

const struct engine_result *subject_result(const struct subject *s, const struct engine *e)
{
    return &s->analysis.runs[engine_number(s, e)].result;
}

const struct pair_set *subject_found(const struct subject *s, const struct engine *e)
{
    return &s->found[engine_number(s, e)];
}

const struct oracle *subject_mc(const struct subject *s)
{
    return naive_has_by_call(&s->mem) ? &s->unseen : &s->oracle;
}

/* ---- is the trace what a memory would have given? ---- */

static bool writes_byte(const struct event *e, uint64_t byte)
{
    uint64_t bytes = op_is_access(e->op) ? e->size : e->value;

    return (op_table[e->op].writes || e->op == OP_ALLOC) && !(e->flags & EV_IGNORED) &&
           byte >= e->target && byte - e->target < bytes;
}

/* The value of a byte just before a position, where the trace tells it. */
static bool byte_before(const struct trace_mem *m, size_t i, uint64_t byte, uint8_t *value)
{
    *value = 0;
    while (i-- > 0) {
        const struct event *e = &m->events[i];

        if (!writes_byte(e, byte))
            continue;
        if (!op_is_access(e->op) || !(e->flags & EV_VALUE) || e->size > 8)
            return false;
        *value = (uint8_t)(e->value >> (8 * (byte - e->target)));
        return true;
    }
    return is_named(byte);
}

static bool is_exact(const struct trace_mem *m)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->events[i];
        uint64_t read = e->op == OP_RMW ? e->old : e->value;

        if (!op_table[e->op].reads || !(e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE)))
            continue;
        for (uint32_t k = 0; k < e->size && k < 8; k++) {
            uint8_t value;

            if (byte_before(m, i, e->target + k, &value) && value != (uint8_t)(read >> (8 * k)))
                return false;
        }
    }
    return true;
}

void subject_init(struct subject *s, const struct buf *text)
{
    struct error err = { "" };
    char path[256];

    *s = (struct subject){ 0 };
    buf_add(&s->text, text->data, text->len);
    buf_addch(&s->text, '\0');
    s->text.len--;
    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text->data, text->len);
    s->trace = trace_open(path, &err);
    unlink(path);
    if (!s->trace)
        die(s, &err);
    run_engines(s);
    naive_order(&s->mem, NAIVE_MUST, &s->must);
    naive_order(&s->mem, NAIVE_HB, &s->hb);
    naive_order(&s->mem, NAIVE_SHB, &s->shb);
    naive_unordered(&s->mem, &s->hb, &s->hb_unordered);
    naive_hbp(&s->mem, &s->hbp);
    naive_shbp(&s->mem, &s->shbp);
    naive_lockset(&s->mem, &s->locks);
    oracle_run(&s->mem, s->info, MAX_STATES, &s->oracle);
    if (naive_has_by_call(&s->mem))
        oracle_run_calls(&s->mem, s->info, CALL_RULE_UNSEEN, trace_tables(s->trace), MAX_STATES,
                         &s->unseen);
    s->exact = is_exact(&s->mem);
}

void subject_release(struct subject *s)
{
    for (size_t e = 0; e < s->nengines; e++)
        pair_set_release(&s->found[e]);
    relation_release(&s->must);
    relation_release(&s->hb);
    relation_release(&s->shb);
    pair_set_release(&s->hb_unordered);
    pair_set_release(&s->hbp);
    pair_set_release(&s->shbp);
    pair_set_release(&s->locks);
    oracle_release(&s->oracle);
    if (naive_has_by_call(&s->mem))
        oracle_release(&s->unseen);
    analysis_release(&s->analysis);
    trace_mem_release(&s->mem);
    trace_close(s->trace);
    buf_release(&s->text);
}
