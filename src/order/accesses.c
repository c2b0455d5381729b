/* accesses.c - the last accesses to a variable: what is rare (accesses.h) */
#include "order/accesses.h"
#include "base/alloc.h"

#include <stdlib.h>

static struct atomic_accesses *row_of(struct accesses *a, struct atomic_table *table)
{
    if (!a->atomic) {
        table->count += !table->count; /* 0 means none */
        GROW(table->rows, table->cap, table->count + 1);
        a->atomic = (uint32_t)table->count++;
    }
    return &table->rows[a->atomic];
}

void accesses_put_atomic(struct accesses *a, struct atomic_table *table, const struct hb_thread *t,
                         const struct step *s)
{
    struct atomic_accesses *row = row_of(a, table);

    access_set_put(s->op == OP_LOAD ? &row->reads : &row->writes, t, s->position, s->site);
}

void accesses_clear(struct accesses *a, struct atomic_table *table)
{
    access_set_clear(&a->writes);
    access_set_clear(&a->reads);
    if (a->atomic) {
        access_set_clear(&table->rows[a->atomic].writes);
        access_set_clear(&table->rows[a->atomic].reads);
    }
}

void accesses_copy(struct accesses *to, const struct accesses *from, struct atomic_table *table)
{
    access_set_copy(&to->writes, &from->writes);
    access_set_copy(&to->reads, &from->reads);
    if (from->atomic) {
        struct atomic_accesses *row = row_of(to, table);

        access_set_copy(&row->writes, &table->rows[from->atomic].writes);
        access_set_copy(&row->reads, &table->rows[from->atomic].reads);
    }
}

void atomic_table_release(struct atomic_table *t)
{
    free(t->rows);
    *t = (struct atomic_table){ 0 };
}
