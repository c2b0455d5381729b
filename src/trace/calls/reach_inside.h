/* reach_inside.h - inside of the stage that completes lists of calls
 *
 * reach.c follows events and calls, reach_search.c searches, reach_lists.c keeps what was found.
 */
#ifndef HEDDLE_TRACE_CALLS_REACH_INSIDE_H
#define HEDDLE_TRACE_CALLS_REACH_INSIDE_H

#include "trace/calls/reach.h"
#include "trace/calls/reach_map.h"

enum {
    RESULT_BITS = 15,       /* lists kept: 32,768 calls with different objects at a time */
    OBJECTS_MAX = 1 << 14,  /* met by one search; an untraced call that can reach more than this may
                               as well reach everything */
    RANGES_MAX = 1 << 13,   /* of one list: as text it stays below the line limit of .std */
    WAYS = 4,               /* places in which a list may be kept */
    WATCHERS_MAX = 1 << 22, /* then all lists are forgotten, with the watchers that are gone */
    WATCHERS_WALKED = 64,   /* of one object, told one by one */
    NOTES_MAX = 1 << 20,    /* allocations noted before anything is followed */
    LOWEST_POINTER = 4096   /* nothing is mapped below */
};

/* Searches are paid for in units: an object or a slot met, 50 to 300 ns. A trace may use CREDIT_MAX
 * at once, half a second, and gets CREDIT_CALL with each call and one with CREDIT_EVENTS
 * events. What was too much once is not tried again for OVER_PAUSE events per unit that it cost. */
#define CREDIT_MAX    ((int64_t)1 << 21)
#define CREDIT_CALL   8
#define CREDIT_EVENTS 8
#define OVER_PAUSE    8
#define CACHE_WORDS   ((size_t)1 << 23) /* of all lists kept: 64 MiB */
#define EXTRA_WORDS   ((size_t)1 << 22) /* lists stand in batch.extra as long as they fit: 32 MiB */

struct range {
    uint64_t start, end;
};

/* A list that was made, and what for. */
struct result {
    bool used, over;   /* over: it was too much, and is until event `until` */
    bool stale;        /* it may say too much: something was taken away */
    uint32_t stamp;    /* of this list; watchers with another one are gone */
    uint64_t appeared; /* what had appeared when it was made, or last checked */
    uint64_t until;
    uint64_t era, at; /* its place in `extra`, in that era */
    uint64_t *words;  /* nkey of the question, nlist of the answer, nloose pointers to nowhere */
    size_t nkey, nlist, nloose, words_cap;
};

/* A list that was made with an object. */
struct watcher {
    uint32_t result, stamp;
    uint32_t next; /* watcher + 1 */
};

/* An alloc or (bytes 0: of unknown size) a free before the first call. */
struct note {
    uint64_t start, bytes;
    bool alloc;
};

struct reach {
    const struct tables *tables;
    struct trace_info *info;
    bool active;
    bool begun; /* what the cut says is known */
    struct note *notes;
    size_t nnotes, notes_cap;

    struct reach_map map;
    uint64_t appeared; /* objects where a pointer led nowhere */
    uint8_t *loose;    /* a bit for each page with such a pointer */
    int64_t credit;
    uint64_t earned; /* units for the events so far */

    struct result *results;
    size_t cached;  /* words in them */
    uint32_t stamp; /* the last one */
    struct watcher *watchers;
    size_t nwatchers, watchers_cap;

    /* the batch under way */
    uint64_t events; /* before it and in it */
    bool own;        /* its lists are in `extra` */
    uint64_t *extra; /* lists of this batch and of those before it, until there are too many */
    size_t nextra, extra_cap;
    uint64_t era;     /* how often it was emptied, + 1 */
    uint64_t all_era; /* of the list D_ALL, and where it is */
    size_t all_at;

    /* the search under way */
    uint32_t search;
    uint32_t *met; /* objects, in the order they were met */
    size_t nmet, met_cap;
    uint64_t *nowhere; /* pointers */
    size_t nnowhere, nowhere_cap;
    struct range *ranges;
    size_t nranges, ranges_cap;
    uint64_t *key, *list;
    size_t nkey, key_cap, nlist, list_cap;
};

/* ---- the search ---- */

/* All that can be reached by the key, into `list`. False: it is too much. */
bool reach_search(struct reach *r);

/* ---- lists that are kept ---- */

/* The list of the key: one that is kept, or a new one. NULL: it would cost too much. */
struct result *reach_answer(struct reach *r);
void reach_forget_lists(struct reach *r);
/* An object changes: a pointer is gone, or there is one to `to` (0: none; ADDRESS_LIMIT: to
 * something that no list has). */
void reach_object_changes(struct reach *r, uint32_t object, uint64_t to);
/* May a pointer into the page of this address have led nowhere? */
bool reach_is_loose_page(const struct reach *r, uint64_t address);

#endif
