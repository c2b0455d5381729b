/* objects.h - which object does an address lie in?
 *
 * For calls of untraced code (docs/design/calls.md). The heap has a byte for each 16 bytes of
 * it, in maps of 1 GiB that are made where there are objects: START where an object begins, END
 * where it ends, PIECE at the multiples of 16 KiB inside it. The low bits of START and PIECE say
 * what the trace knows of the pointers in that piece. Nothing of the program's memory is looked
 * at, so an object that another thread gives back meanwhile does no harm. Objects of more than
 * OBJECT_BIG bytes are in a list instead, with their states.
 *
 * Concurrency: adding and removing are plain stores of bytes that belong to the object, by the
 * thread that got or gives back the memory; finding may come at any time, and may then be wrong
 * about an object that comes or goes. `state` changes by compare-and-swap.
 * Limits: objects smaller than 16 bytes that share such a unit are one.
 */
#ifndef HEDDLE_RUNTIME_UNTRACED_OBJECTS_H
#define HEDDLE_RUNTIME_UNTRACED_OBJECTS_H

#include "runtime/core/state.h"

/* What the trace knows of a piece. */
enum { STATE_FRESH, STATE_LOGGED, STATE_DIRTY, STATE_MASK = 3 };

enum object_kind {
    OBJECT_NONE,
    OBJECT_HEAP,
    OBJECT_VARIABLE, /* of a traced module */
    OBJECT_LOOSE,    /* memory of unknown extent: stacks, data of untraced images */
    OBJECT_THREAD    /* a pthread_t */
};

struct object {
    enum object_kind kind;
    uintptr_t low, high;
    uint8_t *state; /* of the piece that the address lies in; NULL: none is kept */
    bool plain;     /* no pointers in it, by its type */
    bool direct;    /* may be read as long as it is there: see objects_add() */
    uint64_t piece; /* pieces begin at its multiples, a power of two; 0: the object is one */
};

enum { PIECE_BYTES = 1 << 14, OBJECT_BIG = 16 << 20, LOOSE_BYTES = 256 };

extern HIDDEN bool objects_on; /* calls are captured */

/* From malloc: memory that stays readable until free() is through; who gives it back waits for a
 * reader that says so in objects_reading. Only objects of less than a page: others may be protected
 * by the program (guard pages). */
HIDDEN void objects_add(uintptr_t a, uint64_t bytes, bool from_malloc);
HIDDEN void objects_remove(uintptr_t a, uint64_t bytes); /* 0: the object that begins there */
HIDDEN bool objects_find(uintptr_t a, struct object *o);
extern HIDDEN uintptr_t objects_reading; /* the object that is read right now, 0: none */
HIDDEN void objects_wait(uintptr_t a);   /* after objects_remove() and a full barrier */
/* The state of a heap object's piece, NULL if there is none. */
HIDDEN uint8_t *objects_state(uintptr_t a);
HIDDEN void objects_forget(void); /* in a forked child: nothing is logged */

/* Stacks of threads. */
HIDDEN void stacks_add(uintptr_t low, uintptr_t high);
HIDDEN void stacks_remove(uintptr_t low);
HIDDEN bool stacks_find(uintptr_t a, struct object *o);

/* statics.c: data of images, variables and functions of traced modules */
HIDDEN void statics_add_range(uintptr_t low, uintptr_t high, bool system);
HIDDEN void statics_add_code(uintptr_t low, uintptr_t high, bool system);
HIDDEN void statics_remove(uintptr_t low, uintptr_t high); /* an image is gone */
HIDDEN bool statics_find(uintptr_t a, struct object *o);
HIDDEN bool statics_is_known(uintptr_t function);  /* traced, interposed, or the system's */
HIDDEN bool statics_is_listed(uintptr_t function); /* in the list of a traced module */
/* Functions of which is known that they are not traced, by address: of those called by name, and by
 * pointer. */
struct other_targets {
    uint64_t called[TARGETS], pointed[TARGETS];
};
extern HIDDEN struct other_targets statics_others;
HIDDEN bool statics_is_untraced(uintptr_t function);
HIDDEN bool statics_is_traced(uintptr_t code);  /* behind a traced function of its image */
HIDDEN bool statics_is_code(uintptr_t a);       /* of an image: nobody writes there */
HIDDEN bool statics_is_plt(uintptr_t function); /* what it is may become known later */
HIDDEN uintptr_t statics_behind_plt(uintptr_t function);
HIDDEN uintptr_t statics_named(const char *name); /* a variable's address, 0: not known */
HIDDEN void statics_forget(void);

/* Any of them. */
static inline bool object_at(uintptr_t a, struct object *o)
{
    if (a < 1 << 16 || a >> 47)
        return false;
    return objects_find(a, o) || statics_find(a, o) || stacks_find(a, o);
}

#endif
