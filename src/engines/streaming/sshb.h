/* sshb.h - inside of the engine sshb: its state, and the parts of phase 2 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_H
#define HEDDLE_ENGINES_STREAMING_SSHB_H

#include "engines/engine.h"
#include "engines/streaming/sshb_facts.h"
#include "engines/streaming/sshb_reads.h"
#include "order/accesses.h"

struct variable;
struct atomic_reads;
struct birth;

struct sshb {
    struct hb hb;
    struct engine_result *result;
    struct sshb_facts facts;
    struct sshb_reads reads;
    struct variable *vars;
    size_t vars_cap;
    struct atomic_table atomics;
    struct atomic_reads *atomic_reads; /* a row for each of the table's */
    size_t atomic_reads_cap;
    struct birth *births; /* block -> where it was allocated */
    size_t births_cap;
    uint64_t phase1_us, phase2_us; /* of CPU time */
    uint64_t hidden, crowded;
};

/* The counters of phase 1. */
void sshb_finish(void *state);
/* Phase 2, once it is known how far the order of the trace can be trusted. */
int sshb_decide(void *state, struct whole *whole, struct error *err);

#endif
