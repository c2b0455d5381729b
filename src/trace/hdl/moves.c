/* moves.c - the table of moves: adding, expanding, and their bytes */
#include "trace/hdl/moves.h"
#include "base/alloc.h"
#include "trace/hdl/varint.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void moves_release(struct moves *m)
{
    free(m->at);
    free(m->frames);
    map_release(&m->index);
    *m = (struct moves){ 0 };
}

void move_expand(const struct moves *m, uint32_t number, uint32_t thread, struct event *out)
{
    const struct move *move = &m->at[number];
    const struct move_frame *f = m->frames + move->first;

    for (unsigned i = 0; i < move_events(move); i++)
        out[i] = (struct event){ .target = f[i].function,
                                 .thread = thread,
                                 .site = f[i].site,
                                 .op = i < move->left ? OP_EXIT : OP_ENTER };
}

static void moves_add(struct moves *m, const struct move_frame *frames, unsigned left,
                      unsigned entered)
{
    unsigned n = left + entered;

    GROW(m->frames, m->frames_cap, m->nframes + n);
    memcpy(m->frames + m->nframes, frames, n * sizeof(*frames));
    GROW(m->at, m->cap, (size_t)m->count + 1);
    m->at[m->count++] = (struct move){ (uint32_t)m->nframes, (uint8_t)left, (uint8_t)entered };
    m->nframes += n;
}

static bool moves_is_same(const struct moves *m, uint32_t number, const struct move_frame *frames,
                          unsigned left, unsigned entered)
{
    const struct move *move = &m->at[number];

    return move->left == left && move->entered == entered &&
           !memcmp(m->frames + move->first, frames, (left + entered) * sizeof(*frames));
}

uint32_t moves_put(struct moves *m, const struct move_frame *frames, unsigned left,
                   unsigned entered)
{
    uint64_t hash = XXH3_64bits_withSeed(frames, (left + entered) * sizeof(*frames), left);
    uint32_t *known = map_put(&m->index, hash, 0);

    if (*known && moves_is_same(m, *known - 1, frames, left, entered))
        return *known - 1;
    moves_add(m, frames, left, entered);
    *known = m->count; /* of two with one hash the later one is found */
    return m->count - 1;
}

void moves_encode(const struct moves *m, uint32_t number, struct buf *to)
{
    const struct move *move = &m->at[number];
    const struct move_frame *f = m->frames + move->first;

    add_varint(to, move->left);
    add_varint(to, move->entered);
    for (unsigned i = 0; i < move_events(move); i++) {
        add_varint(to, f[i].function);
        add_varint(to, f[i].site == SITE_NONE ? 0 : f[i].site + (uint64_t)1);
    }
}

bool moves_decode(struct moves *m, const uint8_t **at, const uint8_t *end, uint32_t functions,
                  uint32_t sites)
{
    struct move_frame frames[MOVE_FRAMES_MAX];
    uint64_t left, entered, function, site;

    if (!take_varint(at, end, &left) || !take_varint(at, end, &entered) || left > MOVE_FRAMES_MAX ||
        entered > MOVE_FRAMES_MAX - left || !(left + entered))
        return false;
    for (unsigned i = 0; i < left + entered; i++) {
        if (!take_varint(at, end, &function) || !take_varint(at, end, &site) ||
            function >= functions || site > sites)
            return false;
        frames[i] = (struct move_frame){ (uint32_t)function, (uint32_t)site - 1 };
    }
    moves_add(m, frames, (unsigned)left, (unsigned)entered);
    return true;
}
