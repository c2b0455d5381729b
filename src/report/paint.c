/* paint.c - pieces that the text report and `explain` share */
#include "report/paint.h"
#include "report/stacks.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void painter_init(struct painter *p, FILE *out, bool colour)
{
    *p = (struct painter){ .out = out, .colour = colour };
    if (!getcwd(p->folder, sizeof(p->folder) - 1) || strcmp(p->folder, "/") == 0)
        p->folder[0] = 0;
    if (p->folder[0])
        strcat(p->folder, "/");
}

const char *paint_location(const struct painter *p, const char *location)
{
    size_t n = strlen(p->folder);

    return n && strncmp(location, p->folder, n) == 0 ? location + n : location;
}

/* The first frame of a stack is what happened, at its own location. */
static const char *paint_place_of(const struct painter *p, const struct stack *s,
                                  const char *location)
{
    bool known = s->count && s->frames[0].location;

    return paint_location(p, known ? s->frames[0].location : location);
}

/* Where something was done; of what a library did on the program's behalf (std::thread, operator
 * new), the program's part. Code without debug information has only a function. */
static void paint_own_place(struct painter *p, const struct stack *s, const char *location)
{
    const char *own = stack_own_location(s);

    if (!own && s->count && s->frames[0].function)
        fprintf(p->out, "in %s", s->frames[0].function);
    else
        fprintf(p->out, "at %s", paint_location(p, own ? own : location));
}

const char *paint_place(const struct painter *p, const struct side *s)
{
    return paint_place_of(p, &s->stack, s->location);
}

const struct held_lock *side_lock(const struct side *s, const char *name)
{
    for (size_t i = 0; i < s->nlocks; i++)
        if (strcmp(s->locks[i].name, name) == 0)
            return &s->locks[i];
    return NULL;
}

size_t paint_width(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void paint_padded(struct painter *p, const char *s, size_t width)
{
    size_t n = paint_width(s);

    fputs(s, p->out);
    for (; n < width; n++)
        fputc(' ', p->out);
}

void paint_bold(struct painter *p, const char *s)
{
    fprintf(p->out, "%s%s%s", p->colour ? "\033[1m" : "", s, p->colour ? "\033[0m" : "");
}

void paint_engines(struct painter *p, const struct findings *f, uint64_t engines)
{
    const char *separator = "";

    for (size_t i = 0; i < f->nengines; i++) {
        if (!(engines >> i & 1))
            continue;
        fprintf(p->out, "%s%s", separator, f->engines[i].name);
        separator = ", ";
    }
}

void paint_finders(struct painter *p, const struct findings *f, const struct finding *r)
{
    uint64_t first = r->engines & -r->engines, others = r->engines & (r->engines - 1);

    fputs(others ? "found first by " : "found by ", p->out);
    paint_engines(p, f, first);
    if (others) {
        fputs(", then by ", p->out);
        paint_engines(p, f, others);
    }
    if (others && r->decided_by && r->strength != STRENGTH_MAYBE && !r->confirmation)
        fprintf(p->out, "; %s by %s", strength_names[r->strength], r->decided_by);
}

/* Where a lock was taken; of a library's wrapper, the program's own code that called it. */
static void paint_locks(struct painter *p, const struct side *s)
{
    if (s->locks_unknown)
        return;
    fprintf(p->out, "          locks held: %s", s->nlocks ? "" : "none");
    for (size_t i = 0; i < s->nlocks; i++) {
        const struct held_lock *l = &s->locks[i];
        const char *own = stack_own_location(&l->stack);

        fprintf(p->out, "%s%s%s", i ? ", " : "", l->name, l->shared ? " shared" : "");
        if (own || l->location)
            fprintf(p->out, " (taken at %s)", paint_location(p, own ? own : l->location));
    }
    fputc('\n', p->out);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* How many outer frames two stacks have in common; fewer than two are not worth the words. */
static size_t common_frames(const struct stack *a, const struct stack *b)
{
    size_t n = 0;

    if (!a || a->omitted != b->omitted)
        return 0;
    while (n < a->count && n < b->count) {
        const struct frame *f = &a->frames[a->count - 1 - n], *g = &b->frames[b->count - 1 - n];

        if (!same_text(f->function, g->function) || !same_text(f->location, g->location))
            break;
        n++;
    }
    return n > 1 ? n : 0;
}

static void paint_stack(struct painter *p, const struct stack *s, const struct stack *above,
                        const char *margin)
{
    size_t common = common_frames(above, s);

    for (size_t i = 0; i < s->count - common; i++) {
        const struct frame *f = &s->frames[i];

        fprintf(p->out, "%s#%zu %s%s%s%s\n", margin, i, f->function ? f->function : "?",
                f->location ? " at " : "", f->location ? paint_location(p, f->location) : "",
                f->inlined ? " (inlined)" : "");
    }
    if (common)
        fprintf(p->out, "%s#%zu and on: as #%zu and on of the first\n", margin, s->count - common,
                above->count - common);
    else if (s->omitted)
        fprintf(p->out, "%s... and %" PRIu64 " outer frames\n", margin, s->omitted);
}

/* A stack of one frame says no more than the line above it, which names place and function. */
static bool stack_adds(const struct stack *s)
{
    return s->count > 1 || s->omitted;
}

/* A single frame is worth its line only where it names a function. */
static void paint_access_stack(struct painter *p, const struct side *s)
{
    if (stack_adds(&s->stack) || (s->stack.count && s->stack.frames[0].function))
        paint_stack(p, &s->stack, p->above ? &p->above->stack : NULL, "          ");
}

static void paint_source(struct painter *p, const struct side *s)
{
    const struct excerpt *x = s->source;

    if (!x)
        return;
    if (strcmp(paint_location(p, x->location), paint_place(p, s)) != 0)
        fprintf(p->out, "          %s:\n", paint_location(p, x->location));
    for (size_t i = 0; i < x->count; i++)
        fprintf(p->out, "        %c %5" PRIu64 " | %s\n", i == x->marked ? '>' : ' ', x->first + i,
                x->lines[i]);
}

static void paint_creation(struct painter *p, const struct side *s)
{
    fprintf(p->out, "          thread %s was created by %s ", s->thread, s->creator);
    paint_own_place(p, &s->created_stack, s->created_at);
    fprintf(p->out, " (event %" PRIu64 ")\n", s->created_event);
    paint_stack(p, &s->created_stack, p->above ? &p->above->created_stack : NULL, "            ");
}

/* Below the line that says what it is. */
static void paint_details(struct painter *p, const struct side *s)
{
    paint_source(p, s);
    paint_access_stack(p, s);
    paint_locks(p, s);
    if (s->creator)
        paint_creation(p, s);
}

/* "by T1 (worker)" */
static void paint_thread(struct painter *p, const struct side *s)
{
    fputs(s->thread, p->out);
    if (s->thread_name)
        fprintf(p->out, " (%s)", s->thread_name);
}

/* The stack of taking a lock, as the waiter that holds it has it; NULL: not known. */
static const struct stack *hold_stack(const struct waiter *w)
{
    for (size_t i = 0; i < w->request.nlocks; i++)
        if (w->request.locks[i].location && w->request.locks[i].event == w->hold_event)
            return &w->request.locks[i].stack;
    return NULL;
}

void paint_waiter(struct painter *p, const struct deadlock_finding *d, size_t waiter)
{
    const struct waiter *w = &d->waiters[waiter], *holder = deadlock_holder(d, waiter);
    const struct side *s = &w->request;
    const struct stack *taken = hold_stack(holder);
    const char *own = taken ? stack_own_location(taken) : NULL;

    fputs("  ", p->out);
    paint_thread(p, s);
    fprintf(p->out, " waits for %s, held by %s (taken at %s, event %" PRIu64 "): %s at %s", w->lock,
            holder->request.thread, paint_location(p, own ? own : holder->hold_location),
            holder->hold_event, s->op, paint_place(p, s));
    if (s->function)
        fprintf(p->out, " in %s", s->function);
    fprintf(p->out, " (event %" PRIu64 ")\n", s->event);
    paint_details(p, s);
}

void paint_side(struct painter *p, const char *label, const struct side *s)
{
    fprintf(p->out, "  %-7s %s", label, s->op);
    if (s->order || s->bytes)
        fprintf(p->out, " (%s%s", s->order ? s->order : "", s->order && s->bytes ? ", " : "");
    if (s->bytes)
        fprintf(p->out, "%" PRIu64 " byte%s", s->bytes, s->bytes == 1 ? "" : "s");
    if (s->order || s->bytes)
        fputc(')', p->out);
    if (s->value)
        fprintf(p->out, " of %s", s->value);
    if (s->old)
        fprintf(p->out, " over %s", s->old);
    fputs(" by ", p->out);
    paint_thread(p, s);
    fprintf(p->out, " at %s", paint_place(p, s));
    if (s->function)
        fprintf(p->out, " in %s", s->function);
    fprintf(p->out,
            s->unexecuted ? " (not executed: behind event %" PRIu64 ")\n"
                          : " (event %" PRIu64 ")\n",
            s->event);
    paint_details(p, s);
}

void paint_allocation(struct painter *p, const struct finding *r)
{
    const struct allocation *a = r->allocation;

    if (r->descriptor)
        return;
    if (r->thread_local_of)
        fprintf(p->out, "  memory  thread-local storage of %s\n", r->thread_local_of);
    if (!a)
        return;
    if (a->is_stack) {
        fprintf(p->out, "  memory  %s of %s\n",
                a->maybe_local ? "stack or thread-local memory" : "stack", a->thread);
        return;
    }
    fprintf(p->out, "  memory  byte %" PRIu64 " of %" PRIu64 " allocated by %s ", a->offset,
            a->bytes, a->thread);
    paint_own_place(p, &a->stack, a->location);
    fprintf(p->out, " (event %" PRIu64 ")\n", a->event);
    if (stack_adds(&a->stack))
        paint_stack(p, &a->stack, NULL, "          ");
}

void paint_step_head(struct painter *p, const struct paint_widths *w)
{
    fputs("      step     event", p->out);
    if (w->thread) {
        fputs("  ", p->out);
        paint_padded(p, "thread", w->thread);
        fputs("  ", p->out);
        paint_padded(p, "operation", w->operation);
        fputs("  location", p->out);
    }
    fputc('\n', p->out);
}

void paint_step(struct painter *p, const struct schedule_step *step, bool is_switch,
                const struct paint_widths *w)
{
    fprintf(p->out, "  %c %6" PRIu64 " %9" PRIu64, is_switch ? '>' : ' ', step->index, step->event);
    if (step->thread) {
        fputs("  ", p->out);
        paint_padded(p, step->thread, w->thread);
        fputs("  ", p->out);
        paint_padded(p, step->operation, w->operation);
        fprintf(p->out, "  %s", paint_location(p, step->location));
    }
    fputc('\n', p->out);
}

void paint_gap(struct painter *p, uint64_t omitted)
{
    fprintf(p->out, "         ... %" PRIu64 " more step%s\n", omitted, omitted == 1 ? "" : "s");
}
