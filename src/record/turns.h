/* turns.h - the chunks of a thread, each when its turn has come
 *
 * Serial numbers say the order. A chunk that comes early waits for those
 * before it. A signal handler's chunk has a serial number too, but belongs
 * inside of the chunk that was being filled when the handler came, and is
 * handed over before that one.
 *
 * A number that never comes (memory went mad) is waited for while HELD_MAX
 * other chunks, or HANDLERS_MAX of handlers, are here, or until `final` is set.
 * A zeroed struct is empty.
 */
#ifndef HEDDLE_RECORD_TURNS_H
#define HEDDLE_RECORD_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct turn {
    uint32_t number, serial;           /* of the chunk; within the thread */
    uint32_t insert_serial, insert_at; /* a handler's: the chunk it belongs into, and where */
};

struct turns {
    struct turn *waiting;
    size_t count, cap;
    size_t handlers; /* of those that wait: chunks of handlers */
    uint32_t next_serial;
    bool final; /* nothing more is added: what is missing stays missing */
};

void turns_release(struct turns *t);

/* Is there a chunk whose turn has come? */
bool turns_ready(const struct turns *t);

/* Where the first handler's chunk belongs that waits for chunk `serial`; 0: there is none. */
uint32_t turns_first_insert(const struct turns *t, uint32_t serial);

void turns_add(struct turns *t, struct turn turn);
/* Take the chunk whose turn it is; false where none is. */
bool turns_take(struct turns *t, struct turn *out);
/* Take the next handler's chunk that belongs into chunk `serial`, by place. */
bool turns_take_insert(struct turns *t, uint32_t serial, struct turn *out);

#endif
