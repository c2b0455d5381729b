/* util.h - growing arrays and a map for the plugin, which may not use base/ (it must not bring
 * symbols or libraries of ours into other people's compilers)
 */
#ifndef HEDDLE_PASS_UTIL_H
#define HEDDLE_PASS_UTIL_H

#include <stddef.h>
#include <stdint.h>

void *grow(void *array, size_t *room, size_t count, size_t element_bytes);
void *zeroed(size_t bytes);

/* Makes room for one more element in v.at[v.count]. */
#define RESERVE(v) ((v).at = grow((v).at, &(v).room, (v).count + 1, sizeof *(v).at))

/* Pointers (not NULL) to numbers; absent keys give 0. */
struct map {
    struct map_slot {
        const void *key;
        uint64_t value;
    } *slots;
    size_t count, mask; /* mask 0: empty */
};
uint64_t map_get(const struct map *m, const void *key);
void map_set(struct map *m, const void *key, uint64_t value);
void map_release(struct map *m);

/* A growing string of bytes. */
struct bytes {
    char *at;
    size_t count, room;
};
void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_pad(struct bytes *b, size_t multiple);

/* Text in assembly; begins as { .count = 0 }. */
struct text {
    char at[2048];
    size_t count;
};
__attribute__((format(printf, 2, 3))) void text_line(struct text *t, const char *format, ...);

#endif
