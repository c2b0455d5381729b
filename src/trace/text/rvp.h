/* rvp.h - the binary traces of RV-Predict/C: what reader and writer share
 *
 * docs/format/foreign.md describes the format. A file is a header of 16 bytes
 * and records; a record starts with a word that is as wide as a pointer. The
 * runtime reserved a block of addresses for itself: a word inside it, a
 * "deltop", stands for an operation and a distance from the thread's last
 * program counter. Any other word sets the thread's program counter.
 */
#ifndef HEDDLE_TRACE_TEXT_RVP_H
#define HEDDLE_TRACE_TEXT_RVP_H

#include <stdint.h>

enum { RVP_HEADER_BYTES = 16, RVP_JUMPS = 256, RVP_VERSION_WRITTEN = 3 };

enum rvp_op {
    RVP_BEGIN = 0,
    RVP_END = 1,
    RVP_LOAD1 = 2, /* 1, 2, 4, 8, 16 bytes follow each other */
    RVP_STORE1 = 7,
    RVP_FORK = 12,
    RVP_JOIN = 13,
    RVP_ACQUIRE = 14,
    RVP_RELEASE = 15,
    RVP_ENTER = 16,
    RVP_EXIT = 17,
    RVP_SWITCH = 18,
    RVP_RMW1 = 19,
    RVP_ATOMIC_LOAD1 = 24,
    RVP_ATOMIC_STORE1 = 29,
    RVP_GENERATION = 34,
    RVP_SIG_ESTABLISH = 35,
    RVP_SIG_ENTER = 36,
    RVP_SIG_EXIT = 37,
    RVP_SIG_DISESTABLISH = 38,
    RVP_SIG_MASK_MEMO = 39,
    RVP_SIG_SET_MASK = 40,
    RVP_SIG_DEPTH = 41,
    RVP_SIG_BLOCK = 42,
    RVP_SIG_UNBLOCK = 43,
    RVP_SIG_GETSET_MASK = 44,
    RVP_SIG_GET_MASK = 45,
    RVP_OPS = 46
};

#endif
