/* sshb_reads.h - which writes may a read have seen? Definition 6, in one pass
 *
 * A read may have seen every write that happens-before does not order with
 * it; of those of one thread the last (W1). It also may have seen the last
 * writes that happened before it (W2), but these are before it anyway.
 * A later write may be a candidate of an earlier read. So a variable keeps,
 * per slot, all its reads that a later write may need: the first two of each
 * epoch, as a chain of log entries from the newest to the oldest.
 * The paper's Algorithm 1 keeps the last read only and misses the edges to
 * the earlier ones, which can make a race falsely `guaranteed`.
 *
 * Memory: 8 bytes for the first two reads of a variable in each epoch of a
 * thread. Splits share the chains.
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_READS_H
#define HEDDLE_ENGINES_STREAMING_SSHB_READS_H

#include "engines/streaming/sshb_facts.h"
#include "order/access_set.h"

/* The reads of one slot. */
struct sshb_reader {
    uint32_t slot, time;
    uint32_t newest; /* log entry */
    uint32_t logged; /* of this time: 1 or 2 */
};

struct sshb_readers {
    uint32_t count, cap; /* cap 0: the one entry is `one` */
    union {
        struct sshb_reader one;
        struct {
            struct sshb_reader *many;
            struct map *index; /* slot -> place in many, for large sets */
        };
    };
};

struct sshb_log_entry {
    uint32_t older; /* entry of the same slot and variable; 0 none */
    uint32_t position;
};

/* What is open between a writing and a reading slot of one variable. */
struct sshb_record {
    uint32_t candidate; /* number + 1 of the last edge; 0 none */
    uint32_t observed;  /* position + 1 of the last write seen */
};

/* An observed edge whose read has no other candidate so far. */
struct sshb_certain {
    size_t edge;
    uint32_t write_slot, write_time, read_slot, read_time;
};

/* Which reads and writes an edge may join. An atomic read saw the last atomic
 * write before it, since the order of atomics is exact; only where it is not,
 * others are candidates too. */
enum sshb_class {
    SSHB_TO_PLAIN, /* any writes, plain reads */
    SSHB_PLAIN_TO_ATOMIC,
    SSHB_ATOMIC_TO_ATOMIC, /* loose */
    SSHB_CLASSES
};

/* Of variables with unordered reads and writes. */
struct sshb_racy {
    uint32_t variable;
    struct map records[SSHB_CLASSES]; /* (writing slot, reading slot) -> record */
    struct sshb_certain *certain;
    size_t ncertain, certain_cap;
};

/* The log comes in pieces, so that it need not move as it grows. */
enum { SSHB_PIECE_BITS = 16, SSHB_PIECE = 1 << SSHB_PIECE_BITS };

struct sshb_reads {
    struct sshb_facts *facts;    /* borrowed */
    struct sshb_log_entry **log; /* pieces; entry 0 is not used */
    size_t nlog, pieces_cap;
    struct sshb_record *records;
    size_t nrecords, records_cap;
    uint64_t reads, candidates, most; /* counters: reads with candidates, all of them, of one */
};

void sshb_reads_init(struct sshb_reads *r, struct sshb_facts *facts);
void sshb_reads_release(struct sshb_reads *r);

void sshb_readers_clear(struct sshb_readers *r);
void sshb_readers_copy(struct sshb_readers *to, const struct sshb_readers *from); /* to is empty */
void sshb_racy_free(struct sshb_racy *r);
struct sshb_racy *sshb_racy_new(uint32_t variable);
/* For a part of the variable; NULL stays NULL. */
struct sshb_racy *sshb_racy_copy(struct sshb_reads *r, const struct sshb_racy *from,
                                 uint32_t variable);

/* The general case of sshb_log_read(). */
void sshb_log_slowly(struct sshb_reads *r, struct sshb_readers *set, const struct hb_thread *t,
                     uint32_t position);

/* A thread reads: remember it for writes to come. */
static inline void sshb_log_read(struct sshb_reads *r, struct sshb_readers *set,
                                 const struct hb_thread *t, uint64_t position)
{
    if (!set->cap && set->one.slot == t->clock.slot && set->one.time == t->clock.time &&
        set->one.logged == 2)
        return;
    sshb_log_slowly(r, set, t, (uint32_t)position);
}

/* A thread reads and does not know of this write. */
void sshb_unordered_write(struct sshb_reads *r, struct sshb_racy *v, enum sshb_class class,
                          const struct set_access *write, const struct hb_thread *t,
                          uint64_t position);
/* An atomic read: of the atomic writes it saw the last one, this. */
void sshb_saw_atomic(struct sshb_reads *r, struct sshb_racy *v, const struct set_access *write,
                     const struct hb_thread *t, uint64_t position);
/* It is the last write in the recorded order; `removable`: there are other
 * candidates. */
void sshb_observed_write(struct sshb_reads *r, struct sshb_racy *v, const struct set_access *write,
                         const struct hb_thread *t, uint64_t position, bool removable);
/* A thread writes and some access before is not ordered with it; `first`: the
 * first write. */
void sshb_unordered_reads(struct sshb_reads *r, struct sshb_racy *v, enum sshb_class class,
                          const struct sshb_readers *readers, const struct hb_thread *t,
                          uint64_t position, bool first);
/* The new write may be another candidate of reads that had only one. */
void sshb_look_at_certain(struct sshb_reads *r, struct sshb_racy *v, const struct hb_thread *t);

#endif
