/* replay_state.c - the state of a machine while the listed events happen
 *
 * Progress of each thread, holders of each lock, and for each lifetime of each
 * cell its last writer and its value where known. Lifetimes of one cell are
 * different memory: an allocation that was given the address in the trace is
 * given another one in the reordering where that is still in use, so they may
 * overlap. Afterwards only what was touched is put back, so a short witness of
 * a long trace is cheap.
 *
 * Which members of a list are still missing is kept as a forest (union-find):
 * next[m] is m itself or, once m's event was replayed, a later candidate.
 *
 * Where many schedules begin alike, that beginning stays replayed, and what
 * comes behind it is saved before it changes and put back afterwards.
 */
#include "witness/witness_inside.h"

#include <inttypes.h>

/* ---- what changes is saved ---- */

static void save(struct scratch *s, enum saved_kind kind, uint32_t index)
{
    struct saved *to;

    if (!s->saving)
        return;
    GROW(s->saved, s->saved_cap, s->nsaved + 1);
    to = &s->saved[s->nsaved++];
    to->kind = kind;
    to->index = index;
    switch (kind) {
    case SAVED_CONTENT:
        to->content = s->contents[index];
        break;
    case SAVED_LOCK:
        to->lock = s->locks[index];
        break;
    case SAVED_POSTS:
        to->number = s->posts[index];
        break;
    case SAVED_THREAD:
        to->thread = s->threads[index];
        break;
    case SAVED_HOLD:
        to->hold = s->holds[index];
        break;
    case SAVED_LINK:
        to->number = s->next[index];
        break;
    }
}

void begin_saving(struct scratch *s)
{
    s->saving = true;
    s->nsaved = 0;
}

static void restore_one(struct scratch *s, const struct saved *from)
{
    switch (from->kind) {
    case SAVED_CONTENT:
        s->contents[from->index] = from->content;
        break;
    case SAVED_LOCK:
        s->locks[from->index] = from->lock;
        break;
    case SAVED_POSTS:
        s->posts[from->index] = from->number;
        break;
    case SAVED_THREAD:
        s->threads[from->index] = from->thread;
        break;
    case SAVED_HOLD:
        s->holds[from->index] = from->hold;
        break;
    case SAVED_LINK:
        s->next[from->index] = from->number;
        break;
    }
}

/* Backwards: of what changed twice the first is the one that counts. */
void restore_saved(struct scratch *s)
{
    s->saving = false;
    while (s->nsaved > 0)
        restore_one(s, &s->saved[--s->nsaved]);
}

/* ---- what an event needs to be next ---- */

static bool is_replayed(const struct witness_trace *w, uint32_t event)
{
    return w->scratch->threads[w->events[event].thread].progress > w->places[event].rank;
}

/* The first member at or after m whose event was not replayed. */
static uint32_t first_missing(struct scratch *s, uint32_t m)
{
    while (s->next[m] != m) {
        save(s, SAVED_LINK, m); /* the shorter way may lead over what is put back */
        s->next[m] = s->next[s->next[m]];
        m = s->next[m];
    }
    return m;
}

static bool check_program_order(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct place *p = &w->places[position];
    uint32_t thread, progress;

    if (p->rank == NONE)
        return refuse(err, position, "was marked as impossible and is no part of the analysis");
    thread = w->events[position].thread;
    progress = w->scratch->threads[thread].progress;
    if (p->rank < progress)
        return refuse(err, position, "is listed twice or after a later event of %s",
                      name_thread(w, thread).text);
    if (p->rank > progress)
        return refuse(err, position, "an earlier event of %s is missing before it",
                      name_thread(w, thread).text);
    return true;
}

static bool check_needs(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct edges *g = &w->edges;

    for (uint32_t i = g->first_need[position]; i < g->first_need[position + 1]; i++) {
        struct need n = g->needs[i];
        uint32_t missing = n.lo;

        if (n.hi != NEED_EVENT) {
            uint32_t m = first_missing(w->scratch, n.lo);

            if (m >= n.hi)
                continue;
            missing = g->source[m];
        } else if (is_replayed(w, n.lo)) {
            continue;
        }
        return refuse(err, position, "needs event %" PRIu32 " (%s) before it", missing,
                      op_table[w->events[missing].op].name);
    }
    return true;
}

/* Memory must be there before it is used; nothing but its alloc brings it. */
static bool check_allocated(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct event *e = &w->events[position];
    const struct place *p = &w->places[position];

    for (uint32_t i = 0; i < p->count && e->op != OP_ALLOC; i++) {
        uint32_t life = w->touches[p->touch + i].life;

        if (is_allocated(w, life) && w->scratch->contents[life].writer == NONE)
            return refuse(err, position, "the memory at %s is not allocated yet",
                          name_target(w, e).text);
    }
    return true;
}

/* What calls keep in order. */
static bool check_calls(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct call_rules *b = &w->call_rules;

    for (uint32_t i = b->first_need[position]; i < b->first_need[position + 1]; i++) {
        uint32_t missing = b->need[i], call = b->call[missing];

        if (is_replayed(w, missing))
            continue;
        if (call == NONE)
            return refuse(err, position,
                          "event %" PRIu32 " (%s) comes first: a call may touch what it touches",
                          missing, op_table[w->events[missing].op].name);
        return refuse(err, position,
                      "%s's call of %s at event %" PRIu32 " comes first, up to event %" PRIu32,
                      name_thread(w, w->events[call].thread).text, name_function(w, call).text,
                      call, missing);
    }
    return true;
}

/* A semaphore is a counter: a wait needs a post that nobody has taken, whosever it is. */
static bool check_posts(const struct witness_trace *w, uint64_t position, struct error *err)
{
    if (w->events[position].op != OP_SEM_WAIT || w->scratch->posts[w->places[position].semaphore])
        return true;
    return refuse(err, position, "no post of semaphore %s is left",
                  name_target(w, &w->events[position]).text);
}

bool check_next(const struct witness_trace *w, uint64_t position, struct error *err)
{
    return check_program_order(w, position, err) && check_needs(w, position, err) &&
           check_posts(w, position, err) && (!w->calls || check_calls(w, position, err)) &&
           check_allocated(w, position, err) &&
           (!w->relaxed || changing_check_next(w->changing, (uint32_t)position, err));
}

/* ---- locks ---- */

/* The link that points to a thread's hold of a lock, or NULL. */
uint32_t *find_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared)
{
    uint32_t *at = &s->threads[thread].holds;

    while (*at != NONE) {
        if (s->holds[*at].lock == lock && s->holds[*at].shared == shared)
            return at;
        at = &s->holds[*at].next;
    }
    return NULL;
}

/* What *at is part of, a link of the thread's list of holds. */
static void save_link(struct scratch *s, uint32_t thread, const uint32_t *at)
{
    const char *hold = (const char *)at - offsetof(struct hold, next);

    if (at == &s->threads[thread].holds)
        save(s, SAVED_THREAD, thread);
    else
        save(s, SAVED_HOLD, (uint32_t)((const struct hold *)(const void *)hold - s->holds));
}

static void drop_hold(struct scratch *s, uint32_t thread, uint32_t *at)
{
    struct lock_state *l = &s->locks[s->holds[*at].lock];

    save(s, SAVED_LOCK, s->holds[*at].lock);
    save_link(s, thread, at);
    if (s->holds[*at].shared)
        l->sharers--;
    else
        l->owner = NONE;
    *at = s->holds[*at].next; /* its room is not used again in this check */
}

void drop_all_holds(struct scratch *s, uint32_t thread)
{
    while (s->threads[thread].holds != NONE)
        drop_hold(s, thread, &s->threads[thread].holds);
}

void add_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared)
{
    GROW(s->holds, s->holds_cap, s->nholds + 1);
    s->holds[s->nholds] = (struct hold){ lock, s->threads[thread].holds, shared };
    s->threads[thread].holds = (uint32_t)s->nholds++;
}

static bool replay_acquire(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];
    struct scratch *s = w->scratch;
    struct lock_state *l = &s->locks[w->places[i].lock];
    bool shared = e->op == OP_ACQUIRE_SHARED;
    uint32_t others;

    if (l->owner != NONE && l->owner != e->thread)
        return refuse(err, i, "lock %s is held by %s since event %" PRIu32, name_target(w, e).text,
                      name_thread(w, l->owner).text, l->since);
    others = l->sharers - (find_hold(s, e->thread, w->places[i].lock, true) != NULL);
    if (!shared && others)
        return refuse(err, i, "lock %s is held shared by %" PRIu32 " other threads",
                      name_target(w, e).text, others);
    if (find_hold(s, e->thread, w->places[i].lock, shared))
        return true;
    save(s, SAVED_LOCK, w->places[i].lock);
    add_hold(s, e->thread, w->places[i].lock, shared);
    if (shared)
        l->sharers++;
    else
        l->owner = e->thread;
    l->since = i;
    return true;
}

/* Ends the section of the thread itself, of the other kind if there is none of this one;
 * a release of what the thread does not hold changes nothing for others. */
void replay_release(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    bool shared = e->op == OP_RELEASE_SHARED;
    uint32_t lock = w->places[i].lock;
    uint32_t *at = find_hold(w->scratch, e->thread, lock, shared);

    if (!at)
        at = find_hold(w->scratch, e->thread, lock, !shared);
    if (at)
        drop_hold(w->scratch, e->thread, at);
}

/* ---- memory ---- */

/* Recorders leave out an access that repeats one of its thread with no synchronisation in between.
 * So an access that was recorded may happen again, up to the end of its quiet period; until then no
 * other thread may touch the memory in a way that conflicts. */
static bool replay_is_over(const struct witness_trace *w, uint32_t event, uint32_t thread)
{
    uint32_t of = w->events[event].thread;

    return of == thread || w->scratch->threads[of].progress >= w->places[event].quiet_end;
}

static bool check_quiet_of(const struct witness_trace *w, uint32_t i, uint32_t other,
                           struct error *err)
{
    if (replay_is_over(w, other, w->events[i].thread))
        return true;
    return refuse(err, i, "event %" PRIu32 " on %s may not be the last of its kind", other,
                  name_target(w, &w->events[other]).text);
}

static void note_read(const struct witness_trace *w, uint32_t i, struct content *c)
{
    struct scratch *s = w->scratch;

    if (c->reads && w->events[s->reads[c->reads].event].thread == w->events[i].thread) {
        s->reads[c->reads].event = i;
        return;
    }
    GROW(s->reads, s->reads_cap, s->nreads + 2);
    s->reads[++s->nreads] = (struct cell_read){ i, c->reads };
    c->reads = (uint32_t)s->nreads;
}

static bool check_quiet(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct place *p = &w->places[i];
    const struct cell_read *reads;

    for (uint32_t k = 0; k < p->count; k++) {
        struct content *c = &w->scratch->contents[w->touches[p->touch + k].life];

        if (c->writer != NONE && !check_quiet_of(w, i, c->writer, err))
            return false;
        reads = w->scratch->reads;
        for (uint32_t r = c->reads; r && is_writer(w->events[i].op); r = reads[r].next)
            if (!check_quiet_of(w, i, reads[r].event, err))
                return false;
        if (op_table[w->events[i].op].reads)
            note_read(w, i, c);
    }
    return true;
}

/* The value that an event read, where the trace says so. */
static bool read_value(const struct witness_trace *w, const struct event *e, uint64_t *value)
{
    return event_saw(e, value) && w->values && e->size <= 8;
}

/* Does the read find what it needs in its i-th cell? A known value decides; so a recorded
 * value wins over an observed writer that contradicts it. */
static bool cell_satisfies(const struct witness_trace *w, uint32_t event, uint32_t i)
{
    const struct event *e = &w->events[event];
    const struct place *p = &w->places[event];
    const struct touch *t = &w->touches[p->touch + i];
    const struct content *now = &w->scratch->contents[t->life];
    uint64_t value;

    if (now->behind && !w->behind[p->touch + i])
        return false; /* saw a write that came after the calls */
    if (now->known && read_value(w, e, &value))
        return now->value == cells_value(&w->cells, p->cell + i, e->target, value);
    return now->writer == t->writer && !now->tainted;
}

/* Inside a call what is hidden may depend on every read. */
static bool is_inside(const struct witness_trace *w, uint32_t i)
{
    return w->calls && w->call_rules.call[i] != NONE;
}

/* The c-th cell of an event, as values.h wants it. */
struct values_cell cell_of(const struct witness_trace *w, uint32_t i, uint32_t c)
{
    const struct place *p = &w->places[i];
    const struct touch *t = &w->touches[p->touch + c];
    uint64_t start = w->cells.start[p->cell + c];

    return (struct values_cell){ .life = t->life,
                                 .offset = start - w->events[i].target,
                                 .bytes = w->cells.start[p->cell + c + 1] - start,
                                 .observed = t->writer,
                                 .hidden = w->calls && w->scratch->contents[t->life].behind &&
                                           !w->behind[p->touch + c] };
}

static bool replay_free_read(const struct witness_trace *w, uint32_t i, struct error *err)
{
    for (uint32_t c = 0; c < w->places[i].count; c++) {
        struct values_cell cell = cell_of(w, i, c);

        changing_read(w->changing, i, &cell);
    }
    return !is_inside(w, i) || changing_check_same(w->changing, i, err);
}

/* Does what the event reads go into loose writes alone, or may what it writes come from there? */
static bool is_loose(const struct witness_trace *w, uint32_t i)
{
    return w->loose && w->events[i].flags & EV_LOOSE &&
           !(reads_memory(&w->events[i]) && is_inside(w, i));
}

/* A recorded write stands for those like it up to the end of its quiet period: a later one may have
 * written what a loose read in between saw. */
static void taint_quiet(const struct witness_trace *w, uint32_t thread)
{
    struct scratch *s = w->scratch;

    for (uint32_t k = s->threads[thread].loose; k; k = s->loose[k].next) {
        const struct place *p = &w->places[s->loose[k].event];

        for (uint32_t c = 0; c < p->count; c++) {
            struct content *now = &s->contents[w->touches[p->touch + c].life];

            if (now->writer != s->loose[k].event)
                continue;
            now->tainted = true;
            now->known = false;
        }
    }
}

static void note_loose_write(const struct witness_trace *w, uint32_t i)
{
    struct scratch *s = w->scratch;
    struct thread_state *t = &s->threads[w->events[i].thread];

    GROW(s->loose, s->loose_cap, s->nloose + 2);
    s->loose[++s->nloose] = (struct loose_write){ i, t->loose };
    t->loose = (uint32_t)s->nloose;
}

static void replay_loose_read(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    bool same = true;

    for (uint32_t c = 0; c < w->places[i].count && same; c++)
        same = cell_satisfies(w, i, c);
    if (same)
        return;
    w->scratch->threads[e->thread].tainted = true;
    taint_quiet(w, e->thread);
}

static bool replay_read(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    struct thread_state *t = &w->scratch->threads[e->thread];

    if (is_loose(w, i)) {
        replay_loose_read(w, i);
        return true;
    }
    for (uint32_t c = 0; c < p->count && !(t->tainted && w->branches); c++) {
        uint32_t writer = w->scratch->contents[w->touches[p->touch + c].life].writer;

        if (cell_satisfies(w, i, c))
            continue;
        if (w->branches && !is_inside(w, i)) {
            t->tainted = true;
            break;
        }
        if (writer == NONE)
            return refuse(err, i, "reads %s from initial memory, not its value in the trace",
                          name_target(w, e).text);
        return refuse(err, i, "reads %s from event %" PRIu32 ", not its value in the trace",
                      name_target(w, e).text, writer);
    }
    return true;
}

static void replay_write(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    bool loose = is_loose(w, i);
    bool tainted = w->scratch->threads[e->thread].tainted && (w->branches || loose);
    bool known =
        w->values && !tainted && op_is_access(e->op) && e->flags & EV_VALUE && e->size <= 8;

    for (uint32_t c = 0; c < p->count; c++) {
        uint32_t life = w->touches[p->touch + c].life;
        uint64_t value = known ? cells_value(&w->cells, p->cell + c, e->target, e->value) : 0;

        save(w->scratch, SAVED_CONTENT, life);
        w->scratch->contents[life] = (struct content){ value, i, known, tainted, 0 };
        if (w->relaxed) {
            struct values_cell cell = cell_of(w, i, c);

            changing_write(w->changing, i, &cell);
        }
    }
    if (loose && w->quiet)
        note_loose_write(w, i);
}

static bool replay_memory(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];

    if (w->quiet && !check_quiet(w, i, err))
        return false;
    if (reads_memory(e) && !(w->relaxed ? replay_free_read(w, i, err) : replay_read(w, i, err)))
        return false;
    if (is_writer(e->op))
        replay_write(w, i);
    return true;
}

/* ---- calls of untraced code ---- */

/* A call finds what it found; it and its return may write all that it lists. */
static bool replay_call(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct call_rules *b = &w->call_rules;

    for (uint32_t k = b->first_cell[i]; k < b->first_cell[i + 1]; k++) {
        struct content *c = &w->scratch->contents[w->listed[k].life];
        uint64_t address = w->cells.start[b->cell[k]];
        struct event place = { .target = address, .op = OP_ALLOC };

        place.value = w->cells.start[b->cell[k] + 1] - address;
        if (w->events[i].op == OP_CALL &&
            (c->writer != w->listed[k].writer || c->tainted ||
             (w->relaxed && !changing_is_same(w->changing, w->listed[k].life, c->writer))))
            return refuse(err, i, "%s may find something else at %s than it did",
                          name_function(w, i).text, name_target(w, &place).text);
        c->behind = true;
    }
    return true;
}

/* ---- the replay ---- */

static bool replay_effect(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];

    switch (e->op) {
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
        return e->flags & EV_NESTED || replay_acquire(w, i, err);
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        if (!(e->flags & EV_NESTED))
            replay_release(w, i);
        return true;
    case OP_END:
        drop_all_holds(w->scratch, e->thread);
        return true;
    case OP_BRANCH:
    case OP_CALL:
        if (w->branches && w->scratch->threads[e->thread].tainted)
            return refuse(err, i, "%s depends on a read of %s that saw another value",
                          op_table[e->op].name, name_thread(w, e->thread).text);
        return e->op == OP_BRANCH || !w->calls || replay_call(w, i, err);
    case OP_FORK:
        if (w->relaxed && e->target < w->nthreads)
            changing_fork(w->changing, e->thread, (uint32_t)e->target);
        return true;
    case OP_RETURN:
        return !w->calls || replay_call(w, i, err);
    default:
        return replay_memory(w, i, err);
    }
}

bool replay_event(const struct witness_trace *w, uint64_t position, struct error *err)
{
    struct scratch *s = w->scratch;
    uint32_t i = (uint32_t)position;

    if (!check_next(w, position, err))
        return false;
    save(s, SAVED_THREAD, w->events[i].thread);
    if (!replay_effect(w, i, err))
        return false;
    s->threads[w->events[i].thread].progress++;
    if (op_class_of(w->events[i].op) == CLASS_SEM)
        save(s, SAVED_POSTS, w->places[i].semaphore);
    if (w->events[i].op == OP_SEM_WAIT)
        s->posts[w->places[i].semaphore]--;
    else if (w->events[i].op == OP_SEM_POST && !event_begins_semaphore(&w->events[i]))
        s->posts[w->places[i].semaphore]++;
    if (w->loose && ends_quiet(&w->events[i]))
        s->threads[w->events[i].thread].loose = 0;
    if (w->places[i].over) /* no event says so, but the join does */
        drop_all_holds(s, w->events[i].thread);
    for (uint32_t m = w->edges.first_member[i]; m < w->edges.first_member[i + 1]; m++) {
        save(s, SAVED_LINK, w->edges.member_of[m]);
        s->next[w->edges.member_of[m]] = w->edges.member_of[m] + 1;
    }
    return true;
}

/* Put back what replaying an event may have changed. */
void undo_event(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    struct scratch *s = w->scratch;

    s->threads[e->thread] = (struct thread_state){ .holds = NONE };
    if (op_class_of(e->op) == CLASS_LOCK)
        s->locks[p->lock] = (struct lock_state){ .owner = NONE };
    if (op_class_of(e->op) == CLASS_SEM)
        s->posts[p->semaphore] = w->posts[p->semaphore];
    for (uint32_t c = 0; c < p->count; c++) {
        uint32_t life = w->touches[p->touch + c].life;

        s->contents[life] = initial_content(w, life);
    }
    for (uint32_t k = w->calls ? w->call_rules.first_cell[i] : 0;
         w->calls && k < w->call_rules.first_cell[i + 1]; k++)
        s->contents[w->listed[k].life] = initial_content(w, w->listed[k].life);
    for (uint32_t m = w->edges.first_member[i]; m < w->edges.first_member[i + 1]; m++)
        s->next[w->edges.member_of[m]] = w->edges.member_of[m];
}
