/* recorded.c - what a recorded trace says about its making, as findings show it
 *
 * Which executables and libraries were traced and which not, and what was lost,
 * filtered or ignored: a report must not look cleaner than the recording was.
 * For several processes the modules are united and the counters added up.
 */
#include "report/recorded.h"

#include <inttypes.h>
#include <string.h>

static const char *recorded_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void recorded_add_name(struct findings *f, struct findings_names *list, const char *text)
{
    const char *s = findings_string(f, text);

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], s) == 0)
            return;
    if (list->count == list->cap) {
        const char **old = list->names;

        list->cap = list->cap ? list->cap * 2 : 8;
        list->names = arena_alloc(&f->memory, list->cap * sizeof(*old));
        if (old)
            memcpy(list->names, old, list->count * sizeof(*old));
    }
    list->names[list->count++] = s;
}

void findings_add_module(struct findings *f, const char *path, bool traced)
{
    struct findings_recording *r = &f->trace.recording;

    recorded_add_name(f, traced ? &r->traced : &r->untraced, path);
}

void findings_add_note(struct findings *f, const char *text)
{
    recorded_add_name(f, &f->trace.recording.notes, text);
}

void findings_add_recorded(struct findings *f, const char *name, uint64_t value)
{
    struct findings_recording *r = &f->trace.recording;
    size_t i = 0;

    if (!r->counters)
        r->counters = arena_alloc(&f->memory, FINDINGS_RECORDED * sizeof(*r->counters));
    while (i < r->ncounters && strcmp(r->counters[i].name, name) != 0)
        i++;
    if (i == FINDINGS_RECORDED)
        return;
    if (i == r->ncounters)
        r->counters[r->ncounters++] = (struct findings_counter){ findings_string(f, name), 0 };
    r->counters[i].value += value;
}

/* The kernel's own page is no code of the program's, and our runtime not the program. */
static bool is_module(const struct image *m)
{
    const char *name = recorded_base_name(m->path);

    return strncmp(name, "linux-vdso", 10) != 0 && strncmp(name, "[", 1) != 0 &&
           strncmp(name, "libheddle-rt", 12) != 0;
}

/* The trace goes as far as the process came. */
static void add_killed(struct findings *f, const struct process *p)
{
    char end[64], text[128];

    snprintf(text, sizeof(text), "process %" PRIu64 " was %s", p->numbers[PROCESS_PID],
             process_end_text(p, end, sizeof(end)));
    findings_add_note(f, text);
}

/* A beginning that was dropped: what is said holds for the rest. */
static void add_dropped(struct findings *f, const struct tables *t)
{
    uint64_t start = t->process.numbers[PROCESS_CLOCK_NS], gone = seam_number(&t->seam, SEAM_GONE);
    uint64_t cut = seam_number(&t->seam, SEAM_STAMP), last = seam_number(&t->seam, SEAM_LAST);
    char text[160];

    if (!gone)
        return;
    snprintf(text, sizeof(text),
             "only the last %.1f s were kept; the first %.1f s, %" PRIu64 " events, were dropped",
             last > cut ? (double)(last - cut) / 1e9 : 0.0,
             cut > start ? (double)(cut - start) / 1e9 : 0.0, gone);
    findings_add_note(f, text);
}

void findings_set_recording(struct findings *f, const struct tables *t)
{
    const struct process *p = &t->process;

    if (!p->known)
        return;
    f->trace.recording.processes = 1;
    for (size_t i = 0; i < t->nimages; i++)
        if (t->images[i].path && is_module(&t->images[i]))
            findings_add_module(f, t->images[i].path, t->images[i].traced);
    if (f->trace.recording.traced.count)
        f->trace.program = f->trace.recording.traced.names[0];
    for (int n = PROCESS_LOST; n < PROCESS_LOSSES_END; n++)
        if (p->numbers[n])
            findings_add_recorded(f, process_number_names[n], p->numbers[n]);
    if (p->numbers[PROCESS_END] == PROCESS_KILLED)
        add_killed(f, p);
    add_dropped(f, t);
    for (size_t i = 0; i < p->nnotes; i++)
        findings_add_note(f, p->notes[i]);
}

void findings_join_recording(struct findings *f, const struct findings_recording *from)
{
    f->trace.recording.processes += from->processes;
    for (size_t i = 0; i < from->traced.count; i++)
        findings_add_module(f, from->traced.names[i], true);
    for (size_t i = 0; i < from->untraced.count; i++)
        findings_add_module(f, from->untraced.names[i], false);
    for (size_t i = 0; i < from->ncounters; i++)
        findings_add_recorded(f, from->counters[i].name, from->counters[i].value);
    for (size_t i = 0; i < from->notes.count; i++)
        findings_add_note(f, from->notes.names[i]);
}

static void write_untraced(const struct findings_names *list, FILE *out)
{
    enum { NAMED = 6 };

    for (size_t i = 0; i < list->count && i < NAMED; i++)
        fprintf(out, "%s%s", i ? ", " : " (", recorded_base_name(list->names[i]));
    if (list->count > NAMED)
        fprintf(out, " and %zu more", list->count - NAMED);
    if (list->count)
        fputc(')', out);
}

void recording_text(const struct findings_recording *r, FILE *out)
{
    if (!r->processes)
        return;
    fprintf(out, "modules: %zu traced, %zu not", r->traced.count, r->untraced.count);
    write_untraced(&r->untraced, out);
    fputc('\n', out);
    for (size_t i = 0; i < r->ncounters; i++)
        fprintf(out, "%s%s %" PRIu64 "%s", i ? ", " : "recording: ", r->counters[i].name,
                r->counters[i].value, i + 1 == r->ncounters ? "\n" : "");
    for (size_t i = 0; i < r->notes.count; i++)
        fprintf(out, "note: %s\n", r->notes.names[i]);
}

static void emit_names(struct emitter *e, const char *key, const struct findings_names *list)
{
    emit_open(e, key, '[', true);
    for (size_t i = 0; i < list->count; i++)
        emit_string(e, NULL, list->names[i]);
    emit_close(e);
}

void recording_emit(const struct findings_recording *r, struct emitter *e)
{
    if (!r->processes)
        return;
    emit_number(e, "processes", r->processes);
    emit_open(e, "modules", '{', false);
    emit_names(e, "traced", &r->traced);
    emit_names(e, "untraced", &r->untraced);
    emit_close(e);
    emit_open(e, "recorded", '{', true);
    for (size_t i = 0; i < r->ncounters; i++)
        emit_number(e, r->counters[i].name, r->counters[i].value);
    emit_close(e);
    emit_names(e, "notes", &r->notes);
}
