/* test_reach.c - lists of calls made complete (trace/calls/reach.h)
 *
 * Small cases are text traces; what a call's list became is compared as text. Random ones are
 * compared with a reference that knows nothing of pages, versions and kept lists.
 */
#include "hdl_tools.h"
#include "trace/calls/reach.h"
#include "trace/text/event_text.h"

/* ---- text ---- */

static struct trace *open_text(const char *text)
{
    struct error err = { "" };
    struct trace *t = trace_open(memory_file(text, strlen(text)), &err);

    if (!t)
        fail_msg("%s", err.text);
    return t;
}

/* The calls of the rest of the trace, as text. */
static void read_calls(struct trace *t, struct buf *out)
{
    struct error err = { "" };
    struct batch b;
    int r;

    out->len = 0;
    while ((r = trace_next(t, &b, &err)) > 0)
        for (size_t i = 0; i < b.count; i++)
            if (b.events[i].op == OP_CALL) {
                text_operation(out, &b.events[i], b.extra, trace_tables(t));
                buf_addch(out, '\n');
            }
    if (r < 0)
        fail_msg("%s", err.text);
    buf_addch(out, 0);
}

/* Lines "OPERATION" of one thread become `calls`, in the first pass and in the second. */
static void expect_calls(const char *operations, const char *calls)
{
    struct buf text = { 0 }, got = { 0 };
    struct error err;
    struct trace *t;

    for (const char *p = operations; *p; p += strcspn(p, "\n") + 1)
        buf_addf(&text, "T0|%.*s|1\n", (int)strcspn(p, "\n"), p);
    buf_addch(&text, 0);
    t = open_text(text.data);
    for (int pass = 0; pass < 2; pass++) {
        read_calls(t, &got);
        assert_string_equal(got.data, calls);
        assert_int_equal(trace_rewind(t, &err), 0);
    }
    trace_close(t);
    buf_release(&text);
    buf_release(&got);
}

static void a_root_stands_for_its_whole_object(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:64)\n"
                 "call(f:root(0x1000))\n"
                 "call(f:root(0x103f))\n" /* inside */
                 "call(f:root(0x1040))\n" /* one behind the end */
                 "call(f:root(0x9000),root(0x1000))\n",
                 "call(f:0x1000:64)\n"
                 "call(f:0x1000:64)\n"
                 "call(f:0x1040:8)\n"
                 "call(f:0x1000:64,0x9000:8)\n");
}

static void pointers_are_followed_also_in_circles(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:16)\n"
                 "alloc(0x2000:16)\n"
                 "alloc(0x3000:16)\n"
                 "alloc(0x4000:16)\n"
                 "link(0x1008=0x2004)\n" /* into the middle */
                 "link(0x2000=0x3000)\n"
                 "link(0x3000=0x1000)\n"
                 "link(0x4000=0x1000)\n"
                 "call(f:root(0x2000))\n"
                 "call(f:root(0x4000))\n",
                 "call(f:0x1000:16,0x2000:16,0x3000:16)\n"
                 "call(f:0x1000:16,0x2000:16,0x3000:16,0x4000:16)\n");
}

static void a_slot_holds_its_last_pointer(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:16)\n"
                 "alloc(0x2000:16)\n"
                 "alloc(0x3000:16)\n"
                 "link(0x1000=0x2000)\n"
                 "call(f:root(0x1000))\n"
                 "link(0x1000=0x3000)\n"
                 "call(f:root(0x1000))\n"
                 "link(0x1000=0x0)\n"
                 "call(f:root(0x1000))\n",
                 "call(f:0x1000:16,0x2000:16)\n"
                 "call(f:0x1000:16,0x3000:16)\n"
                 "call(f:0x1000:16)\n");
}

static void stored_values_are_pointers_where_objects_are(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:32)\n"
                 "alloc(0x2000:16)\n"
                 "link(0x1018=0x1000)\n" /* from here on values are looked at */
                 "w(0x1000:8=8192)\n"
                 "call(f:root(0x1000))\n"
                 "w(0x1000:4=7)\n"  /* not the whole word */
                 "w(0x1004:8=7)\n"  /* not the same word */
                 "w(0x1000:16)\n"   /* a copy: of what? */
                 "w(0x1008:8=12)\n" /* no object is there */
                 "call(f:root(0x1000))\n"
                 "w(0x1000:8=7)\n"
                 "call(f:root(0x1000))\n"
                 "store.rel(0x1008:8=8200)\n"
                 "call(f:root(0x1000))\n"
                 "rmw.sc(0x1008:8=8200>0)\n"
                 "call(f:root(0x1000))\n"
                 "w(0x5000:8=8192)\n" /* into no object */
                 "call(f:root(0x5000))\n",
                 "call(f:0x1000:32,0x2000:16)\n"
                 "call(f:0x1000:32,0x2000:16)\n"
                 "call(f:0x1000:32)\n"
                 "call(f:0x1000:32,0x2000:16)\n"
                 "call(f:0x1000:32)\n"
                 "call(f:0x5000:8)\n");
}

static void freed_objects_lose_their_slots(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:16)\n"
                 "alloc(0x2000:16)\n"
                 "alloc(0x3000:16)\n"
                 "link(0x1000=0x2000)\n"
                 "link(0x2000=0x3000)\n"
                 "call(f:root(0x1000))\n"
                 "free(0x2000:16)\n"
                 "call(f:root(0x1000))\n" /* the pointer is still there */
                 "alloc(0x2000:24)\n"     /* another object, empty */
                 "call(f:root(0x1000))\n"
                 "free(0x2000:0)\n"
                 "alloc(0x1ff8:16)\n" /* there is something else now */
                 "call(f:root(0x1000))\n",
                 "call(f:0x1000:16,0x2000:16,0x3000:16)\n"
                 "call(f:0x1000:16,0x2000:8)\n"
                 "call(f:0x1000:16,0x2000:24)\n"
                 "call(f:0x1000:16,0x1ff8:16)\n");
}

static void calls_tell_of_globals_and_variables_on_stacks(void **state)
{
    (void)state;
    expect_calls("call(f:object(0x1000:8),slot(0x1000=0x7000),object(0x7000:32),root(0x1000))\n"
                 "call(f:root(0x1000))\n"
                 "object(0x7010:32)\n" /* another frame, where the variable was */
                 "link(0x7010=0x9000)\n"
                 "call(f:root(0x7018))\n"
                 "call(f:root(0x1000))\n"
                 "call(f:object(0x7010:32),root(0x7010))\n" /* told anew: no pointers in it */
                 "alloc(0x2000:64)\n"
                 "link(0x2000=0x1000)\n"
                 "call(f:object(0x2008:8),root(0x2008))\n", /* a part of a block is the block */
                 "call(f:0x1000:8,0x7000:32)\n"
                 "call(f:0x1000:8,0x7000:32)\n"
                 "call(f:0x7010:32,0x9000:8)\n"
                 "call(f:0x1000:8,0x7000:8)\n"
                 "call(f:0x7010:32)\n"
                 "call(f:0x1000:8,0x2000:64,0x7000:8)\n");
}

static void objects_that_touch_are_one_range(void **state)
{
    (void)state;
    expect_calls("alloc(0x1020:16)\n"
                 "alloc(0x1000:16)\n"
                 "alloc(0x1010:16)\n"
                 "call(f:root(0x1020),root(0x1000),root(0x1010))\n"
                 "call(f:root(0x1020),0x1028:100,root(0x1000))\n",
                 "call(f:0x1000:48)\n"
                 "call(f:0x1000:16,0x1020:108)\n");
}

static void other_entries_pass(void **state)
{
    (void)state;
    expect_calls("alloc(0x1000:16)\n"
                 "w(V)\n"
                 "call(f:T0,root(0x1000),V,begin(T0),sync(L))\n"
                 "call(f:*)\n"
                 "call(f:root(0x1000),*)\n"
                 "call(f:V,0x5000:8,0x4000:8)\n" /* nothing to do, nothing is done */
                 "call(f)\n",
                 "call(f:T0,V,begin(T0),sync(L),0x1000:16)\n"
                 "call(f:*)\n"
                 "call(f:*)\n"
                 "call(f:V,0x5000:8,0x4000:8)\n"
                 "call(f)\n");
}

static void large_objects_have_small_ones_inside(void **state)
{
    (void)state;
    expect_calls("alloc(0x100000:1048576)\n" /* a stack */
                 "alloc(0x1000:16)\n"
                 "link(0x180000=0x1000)\n"
                 "call(f:root(0x1fffff))\n"
                 "object(0x180000:16)\n" /* and a variable there */
                 "link(0x180008=0x1000)\n"
                 "call(f:root(0x180000))\n"
                 "call(f:root(0x100000))\n"
                 "link(0x180008=0x0)\n"
                 "call(f:root(0x100000))\n"
                 "free(0x100000:1048576)\n"
                 "call(f:root(0x180000))\n",
                 "call(f:0x1000:16,0x100000:1048576)\n"
                 "call(f:0x1000:16,0x180000:16)\n"
                 "call(f:0x1000:16,0x100000:1048576)\n"
                 "call(f:0x100000:1048576)\n"
                 "call(f:0x180000:8)\n");
}

/* ---- much ---- */

static void what_costs_too_much_becomes_everything(void **state)
{
    struct buf text = { 0 }, got = { 0 };
    struct trace *t;

    (void)state;
    for (unsigned i = 1; i <= 40000; i++)
        buf_addf(&text, "T0|alloc(0x%x:16)|1\nT0|link(0x%x=0x%x)|1\n", 0x1000 * i, 0x1000 * i,
                 0x1000 * (i + 1));
    buf_addstr(&text, "T0|call(f:root(0x1000))|1\nT0|call(f:root(0x9c3f000))|1\n");
    buf_addch(&text, 0);
    t = open_text(text.data);
    read_calls(t, &got);
    assert_string_equal(got.data, "call(f:*)\ncall(f:0x9c3f000:16,0x9c40000:16,0x9c41000:8)\n");
    assert_int_equal(trace_info(t)->lists_given_up, 1);
    assert_int_equal(trace_info(t)->objects, 40000);
    trace_close(t);
    buf_release(&text);
    buf_release(&got);
}

/* A list that changes with every call, and costs more than a call may: sooner or later it is given
 * up, in time in proportion to the number of calls. */
static void work_is_bounded(void **state)
{
    enum { CHAIN = 4000, CALLS = 20000 };
    struct events e = { 0 };
    struct tables t = { 0 };
    struct trace_info info = { 0 };
    struct reach *r = reach_new(&t, &info);
    struct batch b;

    (void)state;
    for (uint64_t i = 1; i <= CHAIN; i++) {
        events_add(&e, (struct event){ .op = OP_ALLOC, .target = i << 12, .value = 16 });
        events_add(&e, (struct event){ .op = OP_LINK, .target = i << 12, .value = (i + 1) << 12 });
    }
    events_add_entry(&e, D_ENTRY(D_ROOT_KIND, 0x1000), 0);
    for (uint64_t i = 0; i < CALLS; i++) {
        events_add(&e, (struct event){ .op = OP_LINK,
                                       .target = (uint64_t)CHAIN << 12 | 8,
                                       .value = UINT64_C(1) << 40 | i << 12 });
        events_add(&e, (struct event){ .op = OP_CALL, .old = 1 });
    }
    b = events_batch(&e, 0, e.count);
    reach_batch(r, &b);
    assert_int_equal(b.events[2 * CHAIN + 1].old, CHAIN + 2);
    assert_in_range(info.lists_given_up, CALLS / 2, CALLS - 100);
    reach_free(r);
    events_release(&e);
}

/* A long list that can only become shorter: without credit the old one is used, never D_ALL. */
static void a_list_that_shrinks_may_say_too_much(void **state)
{
    enum { CHAIN = 4000, CALLS = 20000 };
    struct events e = { 0 };
    struct tables t = { 0 };
    struct trace_info info = { 0 };
    struct reach *r = reach_new(&t, &info);
    struct batch b;
    size_t exact = 0;

    (void)state;
    for (uint64_t i = 1; i <= CHAIN; i++) {
        events_add(&e, (struct event){ .op = OP_ALLOC, .target = i << 12, .value = 16 });
        events_add(&e, (struct event){ .op = OP_LINK, .target = i << 12, .value = (i + 1) << 12 });
    }
    events_add_entry(&e, D_ENTRY(D_ROOT_KIND, 0x1000), 0);
    for (uint64_t i = 0; i < CALLS; i++) {
        events_add(&e, (struct event){ .op = OP_LINK,
                                       .target = (uint64_t)CHAIN << 12 | 8,
                                       .value = (1 + i % 2) << 12 });
        events_add(&e, (struct event){ .op = OP_CALL, .old = 1 });
    }
    /* Then pointers lead to something else: that is never left out. */
    events_add(&e, (struct event){ .op = OP_FREE, .target = 0x2000 });
    events_add(&e, (struct event){ .op = OP_ALLOC, .target = 0x2000, .value = 0x800 });
    events_add(&e, (struct event){ .op = OP_CALL, .old = 1 });
    b = events_batch(&e, 0, e.count);
    reach_batch(r, &b);
    for (size_t i = 2 * CHAIN; i < e.count; i++)
        exact += b.events[i].op == OP_CALL && b.events[i].old == CHAIN + 1;
    assert_int_equal(exact, CALLS);
    assert_int_equal(info.lists_given_up, 1);
    assert_int_equal(b.events[e.count - 1].old, 1);
    assert_int_equal(D_KIND(b.extra[b.events[e.count - 1].value]), D_ALL_KIND);
    reach_free(r);
    events_release(&e);
}

static void equal_lists_are_kept_once(void **state)
{
    struct buf text = { 0 };
    struct error err = { "" };
    struct trace_mem mem;
    struct trace *t;

    (void)state;
    buf_addstr(&text, "T0|alloc(0x1000:16)|1\nT0|alloc(0x2000:16)|1\n");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "T0|call(f:root(0x%x000))|1\nT0|w(0x3000:8=%d)|1\n", 1 + i % 2, i);
    buf_addch(&text, 0);
    t = open_text(text.data);
    assert_int_equal(trace_load(t, SIZE_MAX, &mem, &err), 0);
    assert_int_equal(mem.count, 40002);
    assert_int_equal(mem.nextra, 4);
    for (size_t i = 2; i < mem.count; i += 2) {
        assert_int_equal(mem.events[i].old, 1);
        assert_int_equal(mem.extra[mem.events[i].value], i % 4 == 2 ? 0x1000 : 0x2000);
    }
    trace_mem_release(&mem);
    trace_close(t);
    buf_release(&text);
}

static void windows_and_raw_lists(void **state)
{
    const char *text = "T0|alloc(0x1000:16)|1\nT0|call(f:root(0x1000))|1\nT0|ret(f)|1\n"
                       "T0|alloc(0x2000:16)|1\nT0|link(0x1000=0x2000)|1\n"
                       "T0|call(f:root(0x1000))|1\n";
    struct error err = { "" };
    struct buf got = { 0 };
    struct trace_mem mem;
    struct trace *t = open_text(text);
    struct hdl_options o = { .chunk_events = 2 };
    struct hdl_writer *w;
    struct batch b;

    (void)state;
    trace_keep_lists(t);
    w = hdl_create(path_to("raw.hdl"), trace_tables(t), &o, &err);
    while (trace_next(t, &b, &err) > 0)
        assert_int_equal(hdl_write(w, &b, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
    trace_close(t);

    t = trace_open(path_to("raw.hdl"), &err);
    assert_int_equal(trace_window(t, 5, 1, &mem, &err), 0); /* needs all before it */
    assert_int_equal(mem.count, 1);
    assert_int_equal(mem.events[0].old, 2);
    assert_int_equal(mem.extra[2], 0x2000);
    trace_mem_release(&mem);
    assert_int_equal(trace_window(t, 1, 2, &mem, &err), 0);
    assert_int_equal(mem.count, 2);
    assert_int_equal(mem.events[0].old, 1);
    trace_mem_release(&mem);
    assert_int_equal(trace_window(t, 3, 10, &mem, &err), 0);
    assert_int_equal(mem.count, 3);
    assert_int_equal(mem.events[2].old, 2);
    trace_mem_release(&mem);
    assert_int_equal(trace_rewind(t, &err), 0);
    read_calls(t, &got);
    assert_string_equal(got.data, "call(f:0x1000:16)\ncall(f:0x1000:16,0x2000:16)\n");
    trace_close(t);
    buf_release(&got);
}

/* ---- against a reference ---- */

enum { CELLS = 64, CELL = 0x400, BASE = 0x10000 }; /* where everything happens: 16 pages */

struct plain_object {
    uint64_t start, end;
    bool block;
};

struct model {
    struct plain_object objects[2 * CELLS];
    size_t count;
    uint64_t slots[CELLS * CELL / 8]; /* word -> pointer */
};

static struct plain_object *plain_find(struct model *m, uint64_t address)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->objects[i].start <= address && address < m->objects[i].end)
            return &m->objects[i];
    return NULL;
}

static void plain_unlink(struct model *m, uint64_t start, uint64_t end)
{
    for (uint64_t a = start; a < end; a += 8)
        m->slots[(a - BASE) / 8] = 0;
}

static void plain_add(struct model *m, uint64_t start, uint64_t end, bool block)
{
    for (size_t i = 0; i < m->count; i++) {
        struct plain_object *o = &m->objects[i];

        if (!block &&
            (o->block ? o->start <= start && end <= o->end : o->start == start && o->end == end)) {
            plain_unlink(m, start, end);
            return;
        }
    }
    for (size_t i = 0; i < m->count; i++)
        if (m->objects[i].start < end && start < m->objects[i].end)
            m->objects[i--] = m->objects[--m->count];
    m->objects[m->count++] = (struct plain_object){ start, end, block };
    plain_unlink(m, start, end);
}

static void plain_free(struct model *m, uint64_t start)
{
    struct plain_object *o = plain_find(m, start);

    if (!o || o->start != start)
        return;
    plain_unlink(m, o->start, o->end);
    *o = m->objects[--m->count];
}

/* Marks each byte that can be reached, and each object that was met. */
static void plain_reach(struct model *m, uint64_t root, bool *bytes, bool *met)
{
    struct plain_object *o = plain_find(m, root);

    for (uint64_t a = o ? o->start : root; a < (o ? o->end : root + 8); a++)
        bytes[a - BASE] = true;
    if (!o || met[o - m->objects])
        return;
    met[o - m->objects] = true;
    for (uint64_t a = o->start; a < o->end; a += 8)
        if (m->slots[(a - BASE) / 8])
            plain_reach(m, m->slots[(a - BASE) / 8], bytes, met);
}

static uint64_t any_word(uint64_t *seed)
{
    return BASE + 8 * below(seed, CELLS * CELL / 8 - 1);
}

/* A change of objects or slots, in both worlds. */
static struct event random_change(uint64_t *seed, struct model *m)
{
    uint64_t start = BASE + CELL * below(seed, CELLS) + 8 * below(seed, 4);
    uint64_t bytes = 8 * (1 + below(seed, below(seed, 8) ? 100 : 500));

    if (start + bytes > BASE + CELLS * CELL)
        bytes = BASE + CELLS * CELL - start;
    switch (below(seed, 8)) {
    case 0:
    case 1:
        plain_add(m, start, start + bytes, true);
        return (struct event){ .op = OP_ALLOC, .target = start, .value = bytes };
    case 2:
        plain_add(m, start, start + bytes, false);
        return (struct event){ .op = OP_OBJECT, .target = start, .value = bytes };
    case 3:
        if (m->count)
            start = m->objects[below(seed, m->count)].start;
        plain_free(m, start);
        return (struct event){ .op = OP_FREE, .target = start };
    default: {
        struct event ev = { .op = OP_LINK, .target = any_word(seed), .value = any_word(seed) };

        if (below(seed, 6) == 0)
            ev.value = 0;
        m->slots[(ev.target - BASE) / 8] = ev.value;
        return ev;
    }
    }
}

static void expect_reached(struct model *m, const struct event *ev, const uint64_t *extra,
                           uint64_t root)
{
    static bool want[CELLS * CELL + 16], got[CELLS * CELL + 16];
    bool met[2 * CELLS] = { false };
    uint64_t last = 0;

    memset(want, 0, sizeof(want));
    memset(got, 0, sizeof(got));
    plain_reach(m, root, want, met);
    for (uint64_t i = 0; i < ev->old; i++) {
        const uint64_t *e = extra + ev->value + 2 * i;

        assert_true(i == 0 || e[0] > last); /* sorted, and apart */
        for (uint64_t a = e[0]; a < e[0] + e[1]; a++)
            got[a - BASE] = true;
        last = e[0] + e[1];
    }
    assert_memory_equal(want, got, sizeof(got));
}

static void random_traces_reach_what_the_reference_reaches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct tables t = { 0 };
        struct trace_info info = { 0 };
        struct reach *r = reach_new(&t, &info);
        struct model m = { .count = 0 };
        uint64_t s = seed, roots[4];

        for (int i = 0; i < 4; i++)
            roots[i] = any_word(&s);
        for (int i = 0; i < 1500; i++) {
            uint64_t root = below(&s, 3) ? roots[below(&s, 4)] : any_word(&s);
            uint64_t extra[2] = { D_ENTRY(D_ROOT_KIND, root), 0 };
            struct event events[2] = { { .op = OP_WRITE }, { .op = OP_CALL, .old = 1 } };
            struct batch b = { events, 2, 0, extra };

            if (below(&s, 3))
                events[0] = random_change(&s, &m);
            reach_batch(r, &b);
            expect_reached(&m, &events[1], b.extra, root);
        }
        assert_int_equal(info.lists_given_up, 0);
        reach_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_root_stands_for_its_whole_object),
        cmocka_unit_test(pointers_are_followed_also_in_circles),
        cmocka_unit_test(a_slot_holds_its_last_pointer),
        cmocka_unit_test(stored_values_are_pointers_where_objects_are),
        cmocka_unit_test(freed_objects_lose_their_slots),
        cmocka_unit_test(calls_tell_of_globals_and_variables_on_stacks),
        cmocka_unit_test(objects_that_touch_are_one_range),
        cmocka_unit_test(other_entries_pass),
        cmocka_unit_test(large_objects_have_small_ones_inside),
        cmocka_unit_test(what_costs_too_much_becomes_everything),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(a_list_that_shrinks_may_say_too_much),
        cmocka_unit_test(equal_lists_are_kept_once),
        cmocka_unit_test(windows_and_raw_lists),
        cmocka_unit_test(random_traces_reach_what_the_reference_reaches),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
