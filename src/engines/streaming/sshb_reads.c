/* sshb_reads.c - write-read candidates
 *
 * Between a writing slot j and a reading slot i of one variable, the reads
 * unordered with a write w form an interval of i's reads, and both its ends
 * move forward as w does. So candidate edges from j to i need only be kept
 * where the last write w changes or the first unordered read does: one edge
 * that moves along with w, and a new one when its read has become known to j.
 */
#include "engines/streaming/sshb_reads.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Below this a scan is cheaper than a hash. */
enum { INDEXED_ABOVE = 16 };

/* Observed edges of one variable that are watched for other candidates of their
 * reads; a write looks at all of them. More are taken as removable. */
enum { CERTAIN_MAX = 64 };

static void new_piece(struct sshb_reads *r)
{
    size_t piece = r->nlog >> SSHB_PIECE_BITS;

    GROW(r->log, r->pieces_cap, piece + 1);
    r->log[piece] = xmalloc(SSHB_PIECE * sizeof(**r->log));
}

static struct sshb_log_entry *entry(const struct sshb_reads *r, uint32_t number)
{
    return &r->log[number >> SSHB_PIECE_BITS][number % SSHB_PIECE];
}

void sshb_reads_init(struct sshb_reads *r, struct sshb_facts *facts)
{
    *r = (struct sshb_reads){ .facts = facts, .nlog = 1, .nrecords = 1 };
    new_piece(r);
    GROW(r->records, r->records_cap, 16);
}

void sshb_reads_release(struct sshb_reads *r)
{
    for (size_t i = 0; i < r->pieces_cap; i++)
        free(r->log[i]);
    free(r->log);
    free(r->records);
}

/* ---- readers of a variable ---- */

static void drop_index(struct sshb_readers *r)
{
    if (r->index) {
        map_release(r->index);
        free(r->index);
        r->index = NULL;
    }
}

void sshb_readers_clear(struct sshb_readers *r)
{
    if (r->cap) {
        drop_index(r);
        free(r->many);
    }
    memset(r, 0, sizeof(*r));
}

void sshb_readers_copy(struct sshb_readers *to, const struct sshb_readers *from)
{
    *to = *from;
    if (!from->cap)
        return;
    to->many = xmalloc(from->cap * sizeof(*to->many));
    memcpy(to->many, from->many, from->count * sizeof(*to->many));
    to->index = NULL;
}

static const struct sshb_reader *entries(const struct sshb_readers *r)
{
    return r->cap ? r->many : &r->one;
}

static void build_index(struct sshb_readers *r)
{
    r->index = xcalloc(1, sizeof(*r->index));
    for (uint32_t i = 0; i < r->count; i++)
        *map_put(r->index, r->many[i].slot, 0) = i;
}

static struct sshb_reader *sshb_reads_find(struct sshb_readers *r, uint32_t slot)
{
    if (!r->cap)
        return r->count && r->one.slot == slot ? &r->one : NULL;
    if (r->count > INDEXED_ABOVE) {
        uint32_t *place;

        if (!r->index)
            build_index(r);
        place = map_get(r->index, slot);
        return place ? &r->many[*place] : NULL;
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (r->many[i].slot == slot)
            return &r->many[i];
    return NULL;
}

static struct sshb_reader *sshb_reads_add(struct sshb_readers *r, uint32_t slot)
{
    struct sshb_reader one = r->one;

    if (!r->count) {
        r->one = (struct sshb_reader){ .slot = slot };
        r->count = 1;
        return &r->one;
    }
    if (!r->cap) {
        r->cap = 4;
        r->many = xmalloc(r->cap * sizeof(*r->many));
        r->many[0] = one;
        r->index = NULL;
    } else if (r->count == r->cap) {
        r->cap *= 2;
        r->many = xrealloc(r->many, r->cap, sizeof(*r->many));
    }
    if (r->index)
        *map_put(r->index, slot, 0) = r->count;
    r->many[r->count] = (struct sshb_reader){ .slot = slot };
    return &r->many[r->count++];
}

void sshb_log_slowly(struct sshb_reads *r, struct sshb_readers *set, const struct hb_thread *t,
                     uint32_t position)
{
    struct sshb_reader *own = sshb_reads_find(set, t->clock.slot);

    if (!own)
        own = sshb_reads_add(set, t->clock.slot);
    if (own->time == t->clock.time && own->logged == 2)
        return;
    own->logged = own->time == t->clock.time ? 2 : 1;
    own->time = t->clock.time;
    if (r->nlog >= SSHB_NONE) {
        r->facts->full = true;
        return;
    }
    if (r->nlog % SSHB_PIECE == 0)
        new_piece(r);
    *entry(r, (uint32_t)r->nlog) = (struct sshb_log_entry){ own->newest, position };
    own->newest = (uint32_t)r->nlog++;
}

/* ---- records between two slots ---- */

struct sshb_racy *sshb_racy_new(uint32_t variable)
{
    struct sshb_racy *r = xcalloc(1, sizeof(*r));

    r->variable = variable;
    return r;
}

void sshb_racy_free(struct sshb_racy *r)
{
    if (!r)
        return;
    for (int i = 0; i < SSHB_CLASSES; i++)
        map_release(&r->records[i]);
    free(r->certain);
    free(r);
}

static struct sshb_record *sshb_reads_record(struct sshb_reads *r, struct sshb_racy *v,
                                             enum sshb_class class, uint32_t writer,
                                             uint32_t reader)
{
    uint32_t *number = map_put(&v->records[class], (uint64_t)writer << 32 | reader, 0);

    if (!*number) {
        GROW(r->records, r->records_cap, r->nrecords + 1);
        r->records[r->nrecords] = (struct sshb_record){ 0, 0 };
        *number = (uint32_t)r->nrecords++;
    }
    return &r->records[*number];
}

/* The open edge of a record, or NULL. */
static struct sshb_candidate *edge_of(const struct sshb_reads *r, enum sshb_class class,
                                      const struct sshb_record *open)
{
    const struct sshb_facts *f = r->facts;

    if (!open->candidate)
        return NULL;
    return &(class == SSHB_ATOMIC_TO_ATOMIC ? f->loose : f->candidates)[open->candidate - 1];
}

static void new_candidate(struct sshb_reads *r, enum sshb_class class, struct sshb_record *open,
                          struct sshb_candidate c)
{
    struct sshb_facts *f = r->facts;

    if (!sshb_has_room(f)) {
        return;
    } else if (class == SSHB_ATOMIC_TO_ATOMIC) {
        GROW(f->loose, f->loose_cap, f->nloose + 1);
        f->loose[f->nloose++] = c;
        open->candidate = (uint32_t)f->nloose;
    } else {
        GROW(f->candidates, f->candidates_cap, f->ncandidates + 1);
        f->candidates[f->ncandidates++] = c;
        open->candidate = (uint32_t)f->ncandidates;
    }
}

/* Edges move with the writes of their variable, so a copy has edges of its own.
 */
static void copy_record(struct sshb_reads *r, struct sshb_racy *to, enum sshb_class class,
                        uint64_t key, uint32_t number)
{
    struct sshb_record *new = sshb_reads_record(r, to, class, (uint32_t)(key >> 32), (uint32_t)key);
    const struct sshb_record *old = &r->records[number];

    new->observed = old->observed;
    if (old->candidate) {
        struct sshb_candidate c = *edge_of(r, class, old);

        c.variable = to->variable;
        new_candidate(r, class, new, c);
    }
}

static void copy_records(struct sshb_reads *r, struct sshb_racy *to, enum sshb_class class,
                         const struct map *from)
{
    for (size_t i = 0; i < from->nslots; i++)
        if (from->slots[i].used)
            copy_record(r, to, class, from->slots[i].key, from->slots[i].value);
}

struct sshb_racy *sshb_racy_copy(struct sshb_reads *r, const struct sshb_racy *from,
                                 uint32_t variable)
{
    struct sshb_racy *to;

    if (!from)
        return NULL;
    to = sshb_racy_new(variable);
    for (int i = 0; i < SSHB_CLASSES; i++)
        copy_records(r, to, (enum sshb_class)i, &from->records[i]);
    GROW(to->certain, to->certain_cap, from->ncertain);
    to->ncertain = from->ncertain;
    for (size_t i = 0; i < from->ncertain; i++)
        to->certain[i] = from->certain[i];
    return to;
}

/* ---- a read after a write ---- */

void sshb_unordered_write(struct sshb_reads *r, struct sshb_racy *v, enum sshb_class class,
                          const struct set_access *write, const struct hb_thread *t,
                          uint64_t position)
{
    struct sshb_record *open = sshb_reads_record(r, v, class, write->slot, t->clock.slot);
    struct sshb_candidate *c = edge_of(r, class, open);
    struct sshb_point from = { write->slot, (uint32_t)write->position };
    struct sshb_point here = { t->clock.slot, (uint32_t)position };

    if (!c || c->from.position != from.position)
        new_candidate(r, class, open,
                      (struct sshb_candidate){ from, here, SSHB_NONE, v->variable });
    else if (c->second == SSHB_NONE && c->to.position != here.position)
        c->second = here.position;
}

/* An edge that does not move: no record is open for it. Later reads of the slot
 * are behind it. */
void sshb_saw_atomic(struct sshb_reads *r, struct sshb_racy *v, const struct set_access *write,
                     const struct hb_thread *t, uint64_t position)
{
    struct sshb_record *last = sshb_reads_record(r, v, SSHB_ATOMIC_TO_ATOMIC, write->slot,
                                                 t->clock.slot),
                       unused = { 0, 0 };
    struct sshb_point from = { write->slot, (uint32_t)write->position };
    struct sshb_point here = { t->clock.slot, (uint32_t)position };

    if (last->observed == from.position + 1)
        return;
    last->observed = from.position + 1;
    new_candidate(r, SSHB_PLAIN_TO_ATOMIC, &unused,
                  (struct sshb_candidate){ from, here, SSHB_NONE, v->variable });
}

static void sshb_reads_watch(struct sshb_reads *r, struct sshb_racy *v,
                             const struct set_access *write, const struct hb_thread *t)
{
    struct sshb_facts *f = r->facts;

    if (v->ncertain >= CERTAIN_MAX) {
        f->observed[f->nobserved - 1].removable = true;
        return;
    }
    GROW(v->certain, v->certain_cap, v->ncertain + 1);
    v->certain[v->ncertain++] = (struct sshb_certain){ f->nobserved - 1, write->slot, write->time,
                                                       t->clock.slot, t->clock.time };
}

void sshb_observed_write(struct sshb_reads *r, struct sshb_racy *v, const struct set_access *write,
                         const struct hb_thread *t, uint64_t position, bool removable)
{
    struct sshb_record *open = sshb_reads_record(r, v, SSHB_TO_PLAIN, write->slot, t->clock.slot);
    struct sshb_facts *f = r->facts;
    struct sshb_point from = { write->slot, (uint32_t)write->position };
    struct sshb_point here = { t->clock.slot, (uint32_t)position };

    if (open->observed == from.position + 1 || !sshb_has_room(f))
        return;
    open->observed = from.position + 1;
    GROW(f->observed, f->observed_cap, f->nobserved + 1);
    f->observed[f->nobserved++] = (struct sshb_observed){ from, here, removable };
    if (!removable)
        sshb_reads_watch(r, v, write, t);
}

/* ---- a write after reads ---- */

/* The first two reads of a slot behind what the thread knows of it. */
static void first_unknown(const struct sshb_reads *r, const struct sshb_reader *reader,
                          uint32_t known, uint32_t *first, uint32_t *second)
{
    *first = *second = SSHB_NONE;
    for (uint32_t i = reader->newest; i && entry(r, i)->position >= known; i = entry(r, i)->older) {
        *second = *first;
        *first = entry(r, i)->position;
    }
}

/* True: not just an edge that moved. */
static bool candidate_of(struct sshb_reads *r, struct sshb_racy *v, enum sshb_class class,
                         const struct sshb_reader *reader, const struct hb_thread *t,
                         uint64_t position)
{
    struct sshb_record *open = sshb_reads_record(r, v, class, t->clock.slot, reader->slot);
    struct sshb_point here = { t->clock.slot, (uint32_t)position };
    uint32_t known = sshb_known(r->facts, t, reader->slot), first, second;
    struct sshb_candidate *c = edge_of(r, class, open);

    if (c && c->to.position >= known) {
        c->from.position = here.position;
        return false;
    }
    first_unknown(r, reader, known, &first, &second);
    new_candidate(r, class, open,
                  (struct sshb_candidate){ here, { reader->slot, first }, second, v->variable });
    return true;
}

void sshb_look_at_certain(struct sshb_reads *r, struct sshb_racy *v, const struct hb_thread *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->ncertain; i++) {
        const struct sshb_certain *c = &v->certain[i];

        if (!hb_knows(t, c->read_slot, c->read_time) && !hb_knows(t, c->write_slot, c->write_time))
            r->facts->observed[c->edge].removable = true;
        else
            v->certain[kept++] = *c;
    }
    v->ncertain = kept;
}

void sshb_unordered_reads(struct sshb_reads *r, struct sshb_racy *v, enum sshb_class class,
                          const struct sshb_readers *readers, const struct hb_thread *t,
                          uint64_t position, bool first)
{
    const struct sshb_reader *e = entries(readers);
    uint64_t new = 0;

    for (uint32_t i = 0; i < readers->count; i++)
        if (!hb_knows(t, e[i].slot, e[i].time))
            new += candidate_of(r, v, class, &e[i], t, position);
    if (class == SSHB_ATOMIC_TO_ATOMIC)
        return;
    r->candidates += new;
    r->reads += first ? new : 0; /* they had none so far */
}
