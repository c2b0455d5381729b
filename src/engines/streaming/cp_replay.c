/* cp_replay.c - following the graph in another pass over the trace */
#include "engines/streaming/cp_replay.h"
#include "base/alloc.h"

#include <string.h>

void cp_replay_start(struct cp_replay *r, struct cp *c)
{
    *r = (struct cp_replay){ .cp = c, .next_node = 1, .next_source = 1, .nnodes = c->nnodes };
    for (size_t i = 0; i < c->threads_cap; i++) {
        c->threads[i].node = 0;
        c->threads[i].nheld = 0;
    }
}

/* From here on the lists of sections that end at a node are made anew: those that end later are
 * not in them yet. */
static void start_changing(struct cp_replay *r)
{
    struct cp *c = r->cp;

    r->changing = true;
    for (size_t t = 0; t < c->threads_cap; t++) {
        uint32_t *at = &c->nodes[c->threads[t].node].ends;

        while (*at)
            if (c->sections[*at].closed > c->now)
                *at = c->sections[*at].next_end;
            else
                at = &c->sections[*at].next_end;
    }
}

static void end_section(struct cp_replay *r, uint32_t id)
{
    struct cp *c = r->cp;
    struct cp_section *s = &c->sections[id];
    struct cp_thread *t = &c->threads[s->thread];

    for (size_t i = 0; i < t->nheld; i++)
        if (t->held[i] == id)
            t->held[i--] = t->held[--t->nheld];
    if (!r->changing)
        return;
    s->end = t->node;
    s->next_end = c->nodes[s->end].ends;
    c->nodes[s->end].ends = id;
}

/* The thread's last node, with new rows: all its sections now hold what these know. */
static void append_node(struct cp *c, struct cp_thread *t, uint32_t id)
{
    c->nodes[id].prev = t->node;
    c->nodes[id].next = c->nodes[id].ends = 0;
    if (t->node)
        c->nodes[t->node].next = id;
    cp_compute(c, id);
}

static void apply_rule_b(struct cp *c, const struct cp_thread *t)
{
    for (size_t i = 0; i < t->nheld; i++)
        cp_rule_b(c, t->held[i], cp_p(c, t->node));
    cp_drain(c);
}

static void enter_node(struct cp_replay *r, uint32_t id)
{
    struct cp *c = r->cp;
    struct cp_thread *t = &c->threads[c->nodes[id].thread];

    if (r->changing)
        append_node(c, t, id);
    t->node = id;
    if (c->nodes[id].section) {
        GROW(t->held, t->held_cap, t->nheld + 1);
        t->held[t->nheld++] = c->nodes[id].section;
    }
    if (r->changing)
        apply_rule_b(c, t);
}

void cp_replay_to(struct cp_replay *r, bool access, uint32_t time)
{
    struct cp *c = r->cp;

    c->now = time;
    for (; r->next_move < c->nmoves && c->moves[r->next_move].time <= time; r->next_move++)
        c->threads[c->moves[r->next_move].thread].slot = c->moves[r->next_move].slot;
    while (r->next_closed < c->nclosed && c->sections[c->closed[r->next_closed]].closed <= time)
        end_section(r, c->closed[r->next_closed++]);
    /* what an access itself publishes, it does after its races are known */
    while (r->next_source < c->nsources && c->sources[r->next_source].noted < time + !access) {
        struct cp_source *source = &c->sources[r->next_source++];

        source->node = c->threads[source->thread].node;
    }
    while (r->next_node < r->nnodes && c->nodes[r->next_node].time <= time)
        enter_node(r, (uint32_t)r->next_node++);
}

void cp_replay_race(struct cp_replay *r, uint32_t thread)
{
    struct cp *c = r->cp;
    struct cp_thread *t = &c->threads[thread];
    uint32_t id = (uint32_t)c->nnodes++;

    if (!r->changing)
        start_changing(r);
    GROW(c->nodes, c->nodes_cap, c->nnodes);
    c->nodes[id] = (struct cp_node){
        .time = c->now, .thread = thread, .slot = t->slot, .rows = cp_new_rows(c)
    };
    append_node(c, t, id);
    t->node = id;
}

void cp_replay_edge(struct cp_replay *r, uint32_t thread, uint32_t node, uint32_t slot,
                    uint32_t time)
{
    struct cp *c = r->cp;
    const struct cp_thread *t = &c->threads[thread];

    row_learn(cp_h(c, t->node), cp_h(c, node), slot, time, c->width);
    row_learn(cp_p(c, t->node), cp_h(c, node), slot, time, c->width);
    apply_rule_b(c, t);
}
