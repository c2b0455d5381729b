/* encode_raw.h - the short way from raw records to columns
 *
 * Nearly everything in a recording is an access, a branch or a move on the stack. Their records
 * (abi/rt_ring.h) are encoded as they stand, without becoming a struct event between; the bytes
 * that come out are those of encoder_add().
 */
#ifndef HEDDLE_TRACE_HDL_ENCODE_RAW_H
#define HEDDLE_TRACE_HDL_ENCODE_RAW_H

#include "trace/hdl/codec.h"

/* The site's accesses are marked EV_LOOSE. */
#define RAW_PLACE_LOOSE (UINT64_C(1) << 61)

/* A run of records of one thread. */
struct raw_run {
    uint64_t *at; /* moves on */
    const uint64_t *end;
    uint32_t thread;
    uint64_t stamp;
    /* Site numbers of the process to sites of the trace: the low half of a word, 0 is unknown; and
     * RAW_PLACE_LOOSE. A page is NULL where nothing is known yet. */
    uint64_t *const *pages;
    uint64_t *const *stretch_pages; /* the same for stretches: encode_stretch.h */
    unsigned page_bits;
    /* The stamp that a record of the time (R_STAMP) stands for; NULL: such records end the run. */
    uint64_t (*stamp_of)(void *arg, uint64_t word);
    /* The move that a record R_MOVE stands for, which happens now: its number, and how many events
     * it is, in the upper half; 0: it is not known, and nothing happens. NULL: they end the run. */
    uint64_t (*move_of)(void *arg, uint64_t word);
    bool (*move_is_known)(void *arg, uint64_t word);
    uint32_t (*pc_site)(void *arg, uint64_t pc); /* the site of an address, perhaps SITE_NONE */
    /* Of a stretch's record that enters or leaves a function (FRAME_...), which happens now: makes
     * of it what the file has. False: something else must happen first; nothing has. */
    bool (*take_frame)(void *arg, uint64_t *record, unsigned frame);
    bool refused; /* it said so */
    void *arg;
    uint64_t encoded; /* the stamp of the last event that was encoded */
};

/* Takes records of the time at its beginning. */
void raw_run_take_stamps(struct raw_run *r);

/* Is there something to encode at its beginning? */
bool raw_run_is_common(const struct raw_run *r);
/* Encode up to the first record that is not common, whose site is not known, or that does not fit
 * the chunk (`limit` events in all). How many events. The encoder has been started. */
size_t encoder_add_raw(struct encoder *e, struct raw_run *r, uint32_t limit);

#endif
