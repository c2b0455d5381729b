/* process.c - what is known of a recorded process, in memory and as bytes
 *
 * A process chunk is a list of entries, each a key, a length and so many
 * bytes: later versions may add keys, readers skip what they do not know.
 */
#include "trace/process.h"
#include "base/alloc.h"
#include "trace/hdl/varint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys: numbers have PROCESS_* + 1. */
enum {
    KEY_NUMBERS_END = 64,
    KEY_COMMAND = 64,
    KEY_NOTE = 65,
    KEY_THREAD = 66,
    KEY_POINTER = 67,
    KEY_TLS = 68
};

/* As many images as the runtime tells of: reports look through all of them for a race, and a
 * damaged file may claim millions. */
enum { TLS_MAX = 4096 };

_Static_assert((int)PROCESS_NUMBERS < (int)KEY_NUMBERS_END,
               "keys of numbers end before those of texts");

const char *const process_number_names[PROCESS_NUMBERS] = {
    [PROCESS_PID] = "process",
    [PROCESS_MODE] = "mode",
    [PROCESS_FILTER] = "filter",
    [PROCESS_START_NS] = "start",
    [PROCESS_CLOCK_NS] = "clock",
    [PROCESS_END] = "end",
    [PROCESS_STATUS] = "status",
    [PROCESS_LOST] = "accesses lost",
    [PROCESS_FILTERED] = "accesses filtered",
    [PROCESS_LATE] = "late events",
    [PROCESS_IGNORED] = "accesses ignored",
    [PROCESS_OVERRUNS] = "stack overruns",
    [PROCESS_DAMAGED] = "buffers damaged",
    [PROCESS_DROPPED] = "buffers dropped",
    [PROCESS_MODULES_LOST] = "modules lost",
    [PROCESS_FORKED] = "forked",
};

void process_release(struct process *p)
{
    free(p->command);
    for (size_t i = 0; i < p->nnotes; i++)
        free(p->notes[i]);
    for (size_t i = 0; i < p->nthreads; i++)
        free(p->threads[i].name);
    free(p->notes);
    free(p->threads);
    free(p->tls);
    *p = (struct process){ 0 };
}

const struct process_thread *process_thread(const struct process *p, uint32_t thread)
{
    size_t low = 0, high = p->nthreads;

    while (low < high) { /* they come in ascending order */
        size_t middle = low + (high - low) / 2;

        if (p->threads[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->nthreads && p->threads[low].thread == thread ? &p->threads[low] : NULL;
}

const char *process_thread_name(const struct process *p, uint32_t thread)
{
    const struct process_thread *t = process_thread(p, thread);

    return t ? t->name : NULL;
}

bool process_was_paused(const struct process *p)
{
    for (size_t i = 0; i < p->nnotes; i++)
        if (strcmp(p->notes[i], PROCESS_PAUSED) == 0)
            return true;
    return false;
}

const char *process_end_text(const struct process *p, char *text, size_t n)
{
    uint64_t status = p->numbers[PROCESS_STATUS];
    const char *signal = status < 65 ? sigabbrev_np((int)status) : NULL;

    switch (p->numbers[PROCESS_END]) {
    case PROCESS_GONE:
        return "ended, it is not known how";
    case PROCESS_EXITED:
        snprintf(text, n, "exited with status %" PRIu64, status);
        return text;
    case PROCESS_KILLED:
        snprintf(text, n, "killed by signal %" PRIu64 "%s%s%s", status, signal ? " (" : "",
                 signal ? signal : "", signal ? ")" : "");
        return text;
    case PROCESS_EXECED:
        return "went on as another program";
    default:
        return NULL;
    }
}

/* ---- making ---- */

/* A copy that can be printed: what would be a control character is a blank. */
static char *printable(const char *s, size_t n)
{
    char *copy = xstrndup(s, n);

    for (char *p = copy; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
    return copy;
}

void process_add_note(struct process *p, const char *text, size_t n)
{
    GROW(p->notes, p->notes_cap, p->nnotes + 1);
    p->notes[p->nnotes++] = printable(text, n);
}

void process_add_thread(struct process *p, uint32_t thread, uint32_t tid, uint64_t pointer,
                        const char *name, size_t n)
{
    if (p->nthreads && p->threads[p->nthreads - 1].thread >= thread)
        return;
    GROW(p->threads, p->threads_cap, p->nthreads + 1);
    p->threads[p->nthreads++] =
        (struct process_thread){ thread, tid, pointer, n ? printable(name, n) : NULL };
}

void process_add_tls(struct process *p, uint32_t image, uint64_t offset, uint64_t bytes)
{
    if (!bytes || bytes > offset || p->ntls == TLS_MAX ||
        (p->ntls && p->tls[p->ntls - 1].image >= image))
        return;
    GROW(p->tls, p->tls_cap, p->ntls + 1);
    p->tls[p->ntls++] = (struct process_tls){ image, offset, bytes };
}

/* ---- as bytes ---- */

static void add_bytes(struct buf *out, const char *data, size_t n)
{
    add_varint(out, n);
    buf_add(out, data, n);
}

static void process_add_entry(struct buf *out, unsigned key, const char *data, size_t n)
{
    add_varint(out, key);
    add_bytes(out, data, n);
}

static void add_numbers(struct buf *out, unsigned key, const uint64_t *numbers, size_t n)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < n; i++)
        add_varint(&b, numbers[i]);
    process_add_entry(out, key, b.data, b.len);
    buf_release(&b);
}

static void add_thread(struct buf *out, const struct process_thread *t)
{
    struct buf b = { 0 };

    add_varint(&b, t->thread);
    add_varint(&b, t->tid);
    if (t->name)
        buf_addstr(&b, t->name);
    process_add_entry(out, KEY_THREAD, b.data, b.len);
    buf_release(&b);
}

uint32_t process_encode(const struct process *p, struct buf *out)
{
    uint32_t count = 0;

    for (int i = 0; i < PROCESS_NUMBERS; i++, count++)
        add_numbers(out, (unsigned)i + 1, &p->numbers[i], 1);
    if (p->command) {
        process_add_entry(out, KEY_COMMAND, p->command, strlen(p->command));
        count++;
    }
    for (size_t i = 0; i < p->nnotes; i++, count++)
        process_add_entry(out, KEY_NOTE, p->notes[i], strlen(p->notes[i]));
    for (size_t i = 0; i < p->nthreads; i++, count++)
        add_thread(out, &p->threads[i]);
    for (size_t i = 0; i < p->nthreads; i++)
        if (p->threads[i].pointer) {
            uint64_t n[] = { p->threads[i].thread, p->threads[i].pointer };

            add_numbers(out, KEY_POINTER, n, 2);
            count++;
        }
    for (size_t i = 0; i < p->ntls; i++, count++) {
        uint64_t n[] = { p->tls[i].image, p->tls[i].offset, p->tls[i].bytes };

        add_numbers(out, KEY_TLS, n, 3);
    }
    return count;
}

static int decode_thread(struct process *p, const uint8_t *at, const uint8_t *end)
{
    uint64_t thread, tid;

    if (!take_varint(&at, end, &thread) || !take_varint(&at, end, &tid) || thread > UINT32_MAX)
        return -1;
    process_add_thread(p, (uint32_t)thread, (uint32_t)tid, 0, (const char *)at, (size_t)(end - at));
    return 0;
}

static int decode_pointer(struct process *p, const uint8_t *at, const uint8_t *end)
{
    uint64_t thread, pointer;
    const struct process_thread *t;

    if (!take_varint(&at, end, &thread) || !take_varint(&at, end, &pointer) || at != end ||
        thread > UINT32_MAX)
        return -1;
    t = process_thread(p, (uint32_t)thread);
    if (t)
        p->threads[t - p->threads].pointer = pointer;
    return 0;
}

static int decode_tls(struct process *p, const uint8_t *at, const uint8_t *end)
{
    uint64_t image, offset, bytes;

    if (!take_varint(&at, end, &image) || !take_varint(&at, end, &offset) ||
        !take_varint(&at, end, &bytes) || at != end || image > UINT32_MAX)
        return -1;
    process_add_tls(p, (uint32_t)image, offset, bytes);
    return 0;
}

static int decode_entry(struct process *p, uint64_t key, const uint8_t *at, const uint8_t *end)
{
    if (key >= 1 && key <= PROCESS_NUMBERS)
        return take_varint(&at, end, &p->numbers[key - 1]) && at == end ? 0 : -1;
    if (key == KEY_COMMAND) {
        free(p->command);
        p->command = printable((const char *)at, (size_t)(end - at));
    } else if (key == KEY_NOTE) {
        process_add_note(p, (const char *)at, (size_t)(end - at));
    } else if (key == KEY_THREAD) {
        return decode_thread(p, at, end);
    } else if (key == KEY_POINTER) {
        return decode_pointer(p, at, end);
    } else if (key == KEY_TLS) {
        return decode_tls(p, at, end);
    }
    return 0;
}

int process_decode(struct process *p, uint32_t count, const uint8_t *at, const uint8_t *end)
{
    process_release(p);
    p->known = true;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *data;
        uint64_t key, n;

        if (!take_varint(&at, end, &key) || !take_bytes(&at, end, &data, &n) ||
            decode_entry(p, key, data, data + n) < 0)
            return -1;
    }
    return at == end ? 0 : -1;
}

void image_encode(const struct image *m, struct buf *out)
{
    add_bytes(out, m->path, strlen(m->path));
    add_bytes(out, (const char *)m->build_id, m->build_id_bytes);
    add_varint(out, m->traced);
    add_varint(out, m->modules);
    add_varint(out, m->sites);
    add_varint(out, m->base);
    add_varint(out, m->low);
    add_varint(out, m->high);
}

int image_decode(struct image *m, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *path, *id;
    uint64_t npath, nid, traced, modules, sites;

    if (!take_bytes(at, end, &path, &npath) || !take_bytes(at, end, &id, &nid) ||
        nid > sizeof(m->build_id) || !take_varint(at, end, &traced) ||
        !take_varint(at, end, &modules) || !take_varint(at, end, &sites) ||
        !take_varint(at, end, &m->base) || !take_varint(at, end, &m->low) ||
        !take_varint(at, end, &m->high))
        return -1;
    m->path = printable((const char *)path, npath);
    if (nid)
        memcpy(m->build_id, id, nid);
    m->build_id_bytes = (uint32_t)nid;
    m->traced = traced != 0;
    m->modules = (uint32_t)modules;
    m->sites = (uint32_t)sites;
    return 0;
}
