/* test_remote.c - messages between processes that decide together: whole, cut off, spoiled */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/frame.h"
#include "engines/crew/remote.h"

enum { LIMIT = 5000, INSTANCES = 8 };

static uint64_t seed;

static uint64_t any(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

/* ---- shares at random ---- */

struct sample {
    struct prove_share share;
    struct instance instances[SHARE_MAX][INSTANCES];
    struct scope scope;
};

static void fill_question(struct question *q, struct instance *instances)
{
    *q = (struct question){ .instances = instances,
                            .ninstances = 1 + any(INSTANCES),
                            .max_events = any(2) * any(1u << 20),
                            .max_list = any(2) * any(1u << 20) };
    for (size_t k = 0; k < q->ninstances; k++)
        instances[k] = (struct instance){ any(LIMIT), any(LIMIT) };
}

static void fill_answer(struct question *q)
{
    q->answer = (enum predict_answer)any(4);
    q->stats = (struct predict_stats){ .by_needs = any(10), .conflicts = any(1u << 30) };
    if (q->answer != PREDICT_FEASIBLE)
        return;
    q->feasible = q->instances[any(q->ninstances)];
    q->count = any(40);
    if (any(4) == 0)
        return;
    q->list = xcalloc(q->count + 1, sizeof(*q->list));
    for (size_t i = 0; i < q->count; i++)
        q->list[i] = any(LIMIT);
}

static struct sample *sample_new(bool answered)
{
    struct sample *s = xcalloc(1, sizeof(*s));

    s->scope = (struct scope){ (uint32_t)any(CALL_RULE_SIMPLE + 1), any(100), any(100) };
    s->share.count = 1 + any(20);
    for (size_t i = 0; i < s->share.count; i++) {
        fill_question(&s->share.questions[i], s->instances[i]);
        if (answered)
            fill_answer(&s->share.questions[i]);
    }
    return s;
}

/* The same questions without their answers. */
static struct sample *sample_ask(const struct sample *s)
{
    struct sample *t = xcalloc(1, sizeof(*t));

    *t = *s;
    for (size_t i = 0; i < t->share.count; i++) {
        struct question *q = &t->share.questions[i];

        *q = (struct question){ .instances = t->instances[i], .ninstances = q->ninstances };
    }
    return t;
}

static void sample_free(struct sample *s)
{
    for (size_t i = 0; i < s->share.count; i++)
        free(s->share.questions[i].list);
    free(s);
}

static void expect_same_answer(const struct question *a, const struct question *b)
{
    assert_int_equal(a->answer, b->answer);
    assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
    if (a->answer != PREDICT_FEASIBLE)
        return;
    assert_int_equal(a->feasible.first, b->feasible.first);
    assert_int_equal(a->feasible.second, b->feasible.second);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->list == NULL, b->list == NULL);
    if (a->list)
        assert_memory_equal(a->list, b->list, a->count * sizeof(*a->list));
}

/* ---- messages ---- */

static void questions_arrive_as_they_were_sent(void **state)
{
    (void)state;
    for (seed = 0; seed < 200; seed++) {
        struct sample *s = sample_new(false);
        struct prove_share *got = xcalloc(1, sizeof(*got));
        struct instance *instances;
        struct scope scope;
        struct buf b = { 0 };
        uint64_t id;

        remote_put_ask(&b, 17, &s->scope, &s->share);
        assert_true(remote_get_ask(&b, &id, &scope, got, &instances));
        assert_int_equal(id, 17);
        assert_int_equal(scope.call_rule, s->scope.call_rule);
        assert_int_equal(scope.first, s->scope.first);
        assert_int_equal(scope.count, s->scope.count);
        assert_int_equal(got->count, s->share.count);
        for (size_t i = 0; i < got->count; i++) {
            const struct question *p = &s->share.questions[i], *q = &got->questions[i];

            assert_int_equal(p->max_events, q->max_events);
            assert_int_equal(p->max_list, q->max_list);
            assert_int_equal(p->ninstances, q->ninstances);
            assert_memory_equal(p->instances, q->instances,
                                p->ninstances * sizeof(struct instance));
        }
        free(instances);
        free(got);
        buf_release(&b);
        sample_free(s);
    }
}

static void answers_arrive_as_they_were_sent(void **state)
{
    (void)state;
    for (seed = 0; seed < 200; seed++) {
        struct sample *s = sample_new(true), *t = sample_ask(s);
        struct buf b = { 0 };

        remote_put_answer(&b, 99, &s->share);
        assert_int_equal(remote_get_id(&b), 99);
        assert_true(remote_get_answer(&b, &t->share, LIMIT));
        for (size_t i = 0; i < s->share.count; i++)
            expect_same_answer(&s->share.questions[i], &t->share.questions[i]);
        buf_release(&b);
        sample_free(s);
        sample_free(t);
    }
}

static void a_trace_is_named_by_path_and_content(void **state)
{
    struct remote_trace t = { "folder/with spaces/t.hdl", 123456789, UINT64_MAX }, got;
    struct buf b = { 0 };

    (void)state;
    remote_put_open(&b, &t);
    assert_true(remote_get_open(&b, &got));
    assert_string_equal(got.path, t.path);
    assert_int_equal(got.bytes, t.bytes);
    assert_int_equal(got.hash, t.hash);
    remote_trace_release(&got);
    for (size_t n = 0; n < b.len; n++) {
        struct buf cut = { b.data, n, 0 };

        assert_false(remote_get_open(&cut, &got));
    }
    b.data[b.len - 1] = 0; /* a path ends there */
    assert_false(remote_get_open(&b, &got));
    buf_release(&b);
}

/* ---- broken messages ---- */

/* Whether refused or not, nothing out of range may come out of it. */
static bool read_ask(const char *data, size_t n)
{
    struct buf b = { (char *)data, n, 0 };
    struct prove_share *got = xcalloc(1, sizeof(*got));
    struct instance *instances = NULL;
    struct scope scope;
    uint64_t id, sum = 0;
    bool good = remote_get_ask(&b, &id, &scope, got, &instances);

    if (good) {
        assert_true(scope.call_rule <= CALL_RULE_SIMPLE);
        assert_true(got->count <= SHARE_MAX);
        for (size_t i = 0; i < got->count; i++)
            for (size_t k = 0; k < got->questions[i].ninstances; k++)
                sum += got->questions[i].instances[k].first;
    } else {
        assert_null(instances);
    }
    free(instances);
    free(got);
    return good && sum != 1;
}

static bool read_answer(const struct sample *asked, const char *data, size_t n)
{
    struct buf b = { (char *)data, n, 0 };
    struct sample *t = sample_ask(asked);
    bool good = remote_get_answer(&b, &t->share, LIMIT);

    for (size_t i = 0; i < t->share.count; i++) {
        const struct question *q = &t->share.questions[i];

        assert_true(good || !q->list);
        for (size_t k = 0; q->list && k < q->count; k++)
            assert_true(q->list[k] < LIMIT);
    }
    sample_free(t);
    return good;
}

/* Exact copies, so that a sanitizer sees a step beyond the end. */
static bool read_copy(const struct sample *asked, const char *data, size_t n)
{
    char *copy = xmalloc(n ? n : 1);
    bool good;

    memcpy(copy, data, n);
    good = asked ? read_answer(asked, copy, n) : read_ask(copy, n);
    free(copy);
    return good;
}

static void messages_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    for (seed = 0; seed < 20; seed++) {
        struct sample *s = sample_new(true);
        struct buf ask = { 0 }, answer = { 0 };

        remote_put_ask(&ask, 1, &s->scope, &s->share);
        remote_put_answer(&answer, 1, &s->share);
        for (size_t n = 0; n < ask.len; n++)
            assert_false(read_copy(NULL, ask.data, n));
        for (size_t n = 0; n < answer.len; n++)
            assert_false(read_copy(s, answer.data, n));
        buf_addch(&ask, 0); /* and those that go on behind their end */
        buf_addch(&answer, 0);
        assert_false(read_copy(NULL, ask.data, ask.len));
        assert_false(read_copy(s, answer.data, answer.len));
        buf_release(&ask);
        buf_release(&answer);
        sample_free(s);
    }
}

static void spoiled_messages_do_no_harm(void **state)
{
    unsigned refused = 0, all = 0;

    (void)state;
    for (seed = 0; seed < 3000; seed++) {
        struct sample *s = sample_new(true);
        struct buf b = { 0 };
        bool answer = any(2);

        if (answer)
            remote_put_answer(&b, 1, &s->share);
        else
            remote_put_ask(&b, 1, &s->scope, &s->share);
        for (uint64_t n = 1 + any(4); n; n--)
            b.data[any(b.len)] = any(3) ? (char)any(256) : (char)0xff;
        refused += !read_copy(answer ? s : NULL, b.data, b.len);
        all++;
        buf_release(&b);
        sample_free(s);
    }
    assert_true(refused > all / 4); /* the others are just other messages */
}

static void numbers_that_promise_too_much_are_refused(void **state)
{
    static const char ask[] = "\1\0\0\0\377\377\377\377\377\377\377\377\377\1";
    static const char list[] = "\1\0" /* id, feasible */;
    struct sample *s = sample_new(false);
    struct buf b = { 0 };

    (void)state;
    assert_false(read_copy(NULL, ask, sizeof(ask) - 1));
    s->share.count = 1;
    buf_add(&b, list, 2);
    for (size_t i = 0; i < sizeof(struct predict_stats) / 8; i++)
        buf_addch(&b, 0);
    buf_add(&b, "\0\377\377\377\377\377\377\377\377\377\1\1", 12); /* 2^64 - 1 events follow */
    assert_false(read_copy(s, b.data, b.len));
    buf_release(&b);
    sample_free(s);
}

/* ---- frames ---- */

static void frames_arrive_in_pieces(void **state)
{
    struct frame f = { 0 };
    char wire[8 + 5] = { 5, 0, 0, 0, 7, 0, 0, 0, 'h', 'e', 'l', 'l', 'o' };
    int fds[2], wake = eventfd(1, 0);

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (size_t i = 0; i < sizeof(wire); i++) { /* interrupted behind each byte */
        assert_int_equal(frame_receive(&f, fds[0], wake), 0);
        assert_int_equal(write(fds[1], wire + i, 1), 1);
    }
    assert_int_equal(frame_receive(&f, fds[0], -1), 1);
    assert_int_equal(f.kind, 7);
    assert_int_equal(f.body.len, 5);
    assert_memory_equal(f.body.data, "hello", 5);
    assert_int_equal(frame_send(fds[1], 9, "", 0), 0);
    assert_int_equal(frame_receive(&f, fds[0], -1), 1);
    assert_int_equal(f.kind, 9);
    assert_int_equal(f.body.len, 0);
    close(fds[1]);
    assert_int_equal(frame_receive(&f, fds[0], -1), -1);
    close(fds[0]);
    close(wake);
    frame_release(&f);
}

static void a_frame_that_is_too_long_is_broken(void **state)
{
    struct frame f = { 0 };
    unsigned char wire[8] = { 0, 0, 0, 0xff };
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(write(fds[1], wire, sizeof(wire)), sizeof(wire));
    assert_int_equal(frame_receive(&f, fds[0], -1), -1);
    assert_int_equal(frame_send(fds[1], 1, wire, (size_t)FRAME_BYTES_MAX + 1), -1);
    close(fds[0]);
    assert_int_equal(frame_send(fds[1], 1, wire, sizeof(wire)), -1); /* no signal either */
    close(fds[1]);
    frame_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_arrive_as_they_were_sent),
        cmocka_unit_test(answers_arrive_as_they_were_sent),
        cmocka_unit_test(a_trace_is_named_by_path_and_content),
        cmocka_unit_test(messages_that_are_cut_off_are_refused),
        cmocka_unit_test(spoiled_messages_do_no_harm),
        cmocka_unit_test(numbers_that_promise_too_much_are_refused),
        cmocka_unit_test(frames_arrive_in_pieces),
        cmocka_unit_test(a_frame_that_is_too_long_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
