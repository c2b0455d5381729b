/* accesses.h - the last accesses to a variable, plain and atomic, not ordered with each other
 *
 * Two atomics never race, so a variable has separate sets for its atomic
 * accesses: an access is compared with the sets it conflicts with, and throws
 * out of them what it makes redundant. A plain access makes redundant whatever
 * happened before it, an atomic one only atomics (a later atomic may race with
 * an earlier plain access but not with this one). An rmw is a write. As in
 * the SSHB paper a write leaves the reads alone.
 * Few variables are ever accessed atomically: their sets are in a table, and a
 * variable has the number of its row. Zeroed structs are empty.
 */
#ifndef HEDDLE_ORDER_ACCESSES_H
#define HEDDLE_ORDER_ACCESSES_H

#include "order/access_set.h"
#include "order/step.h"

struct accesses {
    struct access_set writes, reads; /* plain ones */
    uint32_t atomic;                 /* row of the table, 0 none */
};

struct atomic_accesses {
    struct access_set writes, reads;
};

struct atomic_table {
    struct atomic_accesses *rows; /* [0] unused */
    size_t count, cap;
};

void atomic_table_release(struct atomic_table *t);

void accesses_clear(struct accesses *a, struct atomic_table *table);
void accesses_copy(struct accesses *to, const struct accesses *from, struct atomic_table *table);
/* An atomic access: the general case of accesses_put(). */
void accesses_put_atomic(struct accesses *a, struct atomic_table *table, const struct hb_thread *t,
                         const struct step *s);

/* The thread makes an access: add it, drop what it makes redundant. */
static inline void accesses_put(struct accesses *a, struct atomic_table *table,
                                const struct hb_thread *t, const struct step *s)
{
    if (s->op == OP_READ) {
        access_set_put(&a->reads, t, s->position, s->site);
        if (__builtin_expect(a->atomic, 0))
            access_set_prune(&table->rows[a->atomic].reads, t);
    } else if (s->op == OP_WRITE) {
        access_set_put(&a->writes, t, s->position, s->site);
        if (__builtin_expect(a->atomic, 0))
            access_set_prune(&table->rows[a->atomic].writes, t);
    } else {
        accesses_put_atomic(a, table, t, s);
    }
}

/* A variable begins in memory that was freed: the free counts as a write. */
static inline void accesses_put_free(struct accesses *a, const struct hb_block *b)
{
    access_set_append(&a->writes, (struct set_access){ b->free_position, b->free_slot, b->free_time,
                                                       b->free_site, 0 });
}

#endif
