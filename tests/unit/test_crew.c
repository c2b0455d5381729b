/* test_crew.c - questions that other processes answer: the queue, good seats, lost and silent ones
 *
 * The others are threads here, at the other end of real connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/frame.h"
#include "engines/analysis.h"
#include "engines/crew/crew.h"
#include "engines/crew/serve.h"
#include "text_trace.h"

enum { MANY = 200, LIMIT = 1000 };

static const struct crew_secret secret = { "job", "token", 4711 };

/* ---- the queue ---- */

static struct question questions[MANY];

static void begin(struct prove_queue *q)
{
    prove_queue_init(q);
    memset(questions, 0, sizeof(questions));
    for (size_t i = 0; i < MANY; i++)
        questions[i].max_events = i;
    prove_queue_begin(q, questions, MANY, UINT64_MAX);
}

/* Question i is answered so that one can tell by whom. */
static void answer(struct prove_queue *q, size_t i, uint64_t who)
{
    struct question a = { .max_events = i, .answer = PREDICT_INFEASIBLE, .count = who };

    a.stats.by_needs = 1;
    prove_queue_answer(q, i, &a);
}

static void questions_are_handed_out_once_and_in_order(void **state)
{
    struct prove_share share;
    struct prove_queue q;
    struct question copy;
    size_t i;

    (void)state;
    begin(&q);
    for (size_t n = 0; n < 50; n++) {
        assert_true(prove_queue_take(&q, &i, &copy));
        assert_int_equal(i, n);
        assert_int_equal(copy.max_events, n);
        answer(&q, i, 1);
    }
    assert_true(prove_queue_take_share(&q, &share, 10, 4));
    assert_int_equal(share.count, 10);
    for (size_t n = 0; n < share.count; n++)
        assert_int_equal(share.index[n], 50 + n);
    assert_true(prove_queue_take_share(&q, &share, 1000, 4)); /* a fair part of the rest */
    assert_int_equal(share.count, 140 / 4 + 1);
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_int_equal(i, 60 + 36);
    prove_queue_release(&q);
}

static void what_a_lost_seat_had_is_handed_out_again(void **state)
{
    struct prove_share lost, share;
    struct prove_queue q;
    struct question copy;
    size_t i;

    (void)state;
    begin(&q);
    assert_true(prove_queue_take_share(&q, &lost, 5, 1));
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_int_equal(i, 5);
    prove_queue_return(&q, &lost);
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_int_equal(i, 0);
    assert_true(prove_queue_take_share(&q, &share, 6, 1));
    assert_int_equal(share.index[0], 1);
    assert_int_equal(share.index[3], 4);
    assert_int_equal(share.index[4], 6); /* not 5 again */
    prove_queue_release(&q);
}

static void idle_threads_take_over_what_is_away(void **state)
{
    struct prove_share away;
    struct prove_queue q;
    struct question copy;
    size_t i;

    (void)state;
    begin(&q);
    assert_true(prove_queue_take_share(&q, &away, 3, 1)); /* 0, 1, 2 */
    for (size_t n = 3; n < MANY; n++) {
        assert_true(prove_queue_take(&q, &i, &copy));
        assert_int_equal(i, n);
        answer(&q, i, 1);
    }
    assert_false(prove_queue_wait(&q, 1));
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_int_equal(i, 2);
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_int_equal(i, 1);
    answer(&q, 1, 1);
    answer(&q, 1, 2);                              /* the seat, too late */
    answer(&q, 0, 2);                              /* the seat, first */
    assert_false(prove_queue_take(&q, &i, &copy)); /* 2 is with a local thread */
    answer(&q, 2, 1);
    assert_true(prove_queue_wait(&q, 1));
    assert_int_equal(prove_queue_end(&q), MANY);
    assert_int_equal(questions[0].count, 2);
    assert_int_equal(questions[1].count, 1);
    assert_int_equal(q.stats.by_needs, MANY); /* each answer counts once */
    prove_queue_release(&q);
}

static void a_batch_ends_early_when_schedules_fill_the_memory(void **state)
{
    struct question big = { .answer = PREDICT_FEASIBLE, .count = LISTS_EVENTS_MAX + 1 }, copy;
    struct prove_share away;
    struct prove_queue q;
    size_t i;

    (void)state;
    begin(&q);
    assert_true(prove_queue_take(&q, &i, &copy));
    assert_true(prove_queue_take_share(&q, &away, 4, 1)); /* 1 to 4 */
    big.list = xcalloc(1, sizeof(*big.list));
    prove_queue_answer(&q, 0, &big);
    prove_queue_return(&q, &away);
    for (size_t n = 1; n <= 4; n++) {
        assert_true(prove_queue_take(&q, &i, &copy));
        assert_int_equal(i, n);
        answer(&q, i, 1);
    }
    assert_false(prove_queue_take(&q, &i, &copy));
    assert_true(prove_queue_wait(&q, 1));
    assert_int_equal(prove_queue_end(&q), 5);
    free(questions[0].list);
    prove_queue_release(&q);
}

static void what_is_left_when_stopped_is_undecided(void **state)
{
    struct prove_queue q;
    struct question copy;
    size_t i;

    (void)state;
    begin(&q);
    assert_true(prove_queue_take(&q, &i, &copy));
    answer(&q, i, 1);
    prove_queue_stop(&q);
    assert_false(prove_queue_take(&q, &i, &copy));
    assert_true(prove_queue_wait(&q, 1));
    assert_int_equal(prove_queue_end(&q), MANY);
    assert_int_equal(questions[0].answer, PREDICT_INFEASIBLE);
    assert_int_equal(questions[1].answer, PREDICT_UNDECIDED);
    prove_queue_release(&q);
}

/* ---- connections ---- */

static int listen_here(struct sockaddr_in *at)
{
    socklen_t n = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_int_equal(bind(fd, (struct sockaddr *)at, n), 0);
    assert_int_equal(listen(fd, 10), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, &n), 0);
    return fd;
}

static int connect_there(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
    return fd;
}

static void only_who_knows_the_secret_is_let_in(void **state)
{
    struct crew_secret wrong_token = secret, wrong_job = secret, other_program = secret;
    struct sockaddr_in at;
    struct crew *c = crew_new(listen_here(&at), &secret, 1);
    const struct crew_secret *wrong[] = { &wrong_token, &wrong_job, &other_program };
    struct error err;

    (void)state;
    wrong_token.token[31] ^= 1;
    wrong_job.job[15] ^= 1;
    other_program.program++;
    for (size_t i = 0; i < 3; i++) {
        int fd = connect_there(&at);

        assert_int_equal(crew_join(fd, wrong[i], 1, &err), -1);
        close(fd);
        assert_int_equal(crew_stats(c).seats, 0);
    }
    assert_string_equal(err.text, "another build of heddle than that of rank 0");
    assert_int_equal(crew_stats(c).refused, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(crew_join(connect_there(&at), &secret, i / 2, &err), 0);
    crew_wait(c, 10);
    crew_free(c);
}

/* ---- seats that do not do what they should ---- */

enum conduct {
    HONEST,  /* answers what is asked */
    LEAVES,  /* goes away with its first share */
    HALF,    /* goes away in the middle of its first answer */
    LIES,    /* sends nonsense */
    REFUSES, /* does not know the trace */
    SILENT   /* never says a word */
};

struct fake {
    pthread_t thread;
    struct sockaddr_in at;
    enum conduct conduct;
    int fd;
};

/* Infeasible, all of them. */
static void send_answers(int fd, uint64_t id, struct prove_share *share, enum conduct conduct)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < share->count; i++)
        share->questions[i].answer = PREDICT_INFEASIBLE;
    remote_put_answer(&b, id, share);
    if (conduct == LIES)
        b.data[b.len - 1] = (char)0xff;
    if (conduct == HALF) {
        unsigned char header[8] = { (unsigned char)b.len, 0, 0, 0, REMOTE_ANSWER };

        frame_send_bytes(fd, header, sizeof(header));
        frame_send_bytes(fd, b.data, b.len / 2);
    } else {
        frame_send(fd, REMOTE_ANSWER, b.data, b.len);
    }
    buf_release(&b);
}

/* False: it has had enough. */
static bool react(struct fake *f, const struct frame *m)
{
    static __thread struct prove_share share;
    struct instance *instances;
    struct scope scope;
    uint64_t id;

    if (m->kind != REMOTE_ASK || f->conduct == SILENT)
        return true;
    if (f->conduct == LEAVES || !remote_get_ask(&m->body, &id, &scope, &share, &instances))
        return false;
    if (f->conduct == REFUSES) {
        struct buf b = { 0 };

        remote_put_refuse(&b, id, "never");
        frame_send(f->fd, REMOTE_REFUSE, b.data, b.len);
        buf_release(&b);
    } else {
        send_answers(f->fd, id, &share, f->conduct);
    }
    free(instances);
    return f->conduct != HALF;
}

static void *behave(void *arg)
{
    struct fake *f = arg;
    struct frame m = { 0 };

    while (frame_receive(&m, f->fd, -1) > 0 && react(f, &m))
        ;
    close(f->fd);
    frame_release(&m);
    return NULL;
}

static void fake_start(struct fake *f, const struct sockaddr_in *at, enum conduct conduct)
{
    struct error err;

    *f = (struct fake){ .conduct = conduct, .fd = connect_there(at) };
    assert_int_equal(crew_join(f->fd, &secret, conduct, &err), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, behave, f), 0);
}

/* A batch with a local thread that is slow enough for others to get their share. */
static void run_batch(struct crew *c, struct prove_queue *q)
{
    static const struct instance instance = { 1, 2 };
    struct scope scope = { 0 };
    struct question copy;
    struct shift *shift;
    size_t i;

    for (size_t n = 0; n < MANY; n++)
        questions[n] = (struct question){ .instances = &instance, .ninstances = 1 };
    prove_queue_begin(q, questions, MANY, UINT64_MAX);
    shift = crew_begin(c, &scope, q, 1, LIMIT);
    while (prove_queue_take(q, &i, &copy)) {
        usleep(1000);
        copy.answer = PREDICT_INFEASIBLE;
        copy.count = 1; /* we were it */
        prove_queue_answer(q, i, &copy);
    }
    assert_true(prove_queue_wait(q, 10000));
    crew_end(shift);
    assert_int_equal(prove_queue_end(q), MANY);
    for (size_t n = 0; n < MANY; n++)
        assert_int_equal(questions[n].answer, PREDICT_INFEASIBLE);
}

/* On a busy machine a seat may sleep over its first shares. */
static bool has_shown(enum conduct conduct, const struct crew_stats *s)
{
    return s->answered > 0 && (s->lost > 0 || conduct == HONEST || conduct == REFUSES);
}

static struct crew_stats run_with(enum conduct conduct)
{
    struct remote_trace trace = { "t", 1, 1 };
    struct sockaddr_in at;
    struct crew *c = crew_new(listen_here(&at), &secret, 2);
    struct crew_stats s;
    struct prove_queue q;
    struct fake fakes[2];

    prove_queue_init(&q);
    fake_start(&fakes[0], &at, conduct);
    fake_start(&fakes[1], &at, HONEST);
    crew_wait(c, conduct == HONEST ? 0 : 10);
    while (crew_stats(c).seats < 2)
        usleep(1000);
    crew_set_trace(c, &trace);
    for (int again = 0; again < 3 || (again < 100 && !has_shown(conduct, &s)); again++) {
        run_batch(c, &q);
        s = crew_stats(c);
    }
    crew_free(c);
    for (int i = 0; i < 2; i++)
        pthread_join(fakes[i].thread, NULL);
    prove_queue_release(&q);
    return s;
}

static void good_seats_answer(void **state)
{
    struct crew_stats s = run_with(HONEST);

    (void)state;
    assert_int_equal(s.seats, 2);
    assert_int_equal(s.lost, 0);
    assert_true(s.answered > 0);
}

static void a_seat_that_leaves_costs_its_share_only(void **state)
{
    static const enum conduct bad[] = { LEAVES, HALF, LIES };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct crew_stats s = run_with(bad[i]);

        assert_int_equal(s.lost, 1);
        assert_true(s.returned > 0);
        assert_true(s.answered > 0); /* by the other one */
    }
}

static void a_seat_that_refuses_is_not_asked_again(void **state)
{
    struct crew_stats s = run_with(REFUSES);

    (void)state;
    assert_int_equal(s.lost, 0);
    assert_true(s.answered > 0);
}

static void nobody_waits_for_a_silent_seat(void **state)
{
    struct crew_stats s = run_with(SILENT);

    (void)state;
    assert_int_equal(s.lost, 0); /* it may still come back */
    assert_true(s.answered > 0);
}

/* ---- the real thing ---- */

/* Threads that hand values over by flags and locks: many pairs, some feasible. */
static char *make_text(void)
{
    struct buf b = { 0 };
    unsigned seed = 1, mem[12] = { 0 };

    for (unsigned t = 1; t < 4; t++)
        buf_addf(&b, "T0|fork(T%u)|1\n", t);
    for (unsigned i = 0; i < 240; i++) {
        unsigned t, v;

        seed = seed * 1103515245 + 12345;
        t = seed >> 16 & 3;
        v = (seed >> 18) % 12;
        if (seed >> 24 & 1)
            buf_addf(&b, "T%u|acq(L%u)|%u\n", t, v % 5, 2 + v % 5);
        if (seed >> 25 & 1)
            buf_addf(&b, "T%u|w(V%u=%u)|%u\n", t, v, mem[v] = seed >> 26 & 7, 100 + i % 53);
        else
            buf_addf(&b, "T%u|r(V%u=%u)|%u\n", t, v, mem[v], 100 + i % 53);
        if (seed >> 24 & 1)
            buf_addf(&b, "T%u|rel(L%u)|%u\n", t, v % 5, 10 + v % 5);
    }
    return buf_detach(&b);
}

static struct trace *open_it(void *arg, const char *path, struct error *err)
{
    (void)arg;
    return trace_open(path, err);
}

static void do_not_complain(void *arg, const char *why)
{
    (void)arg;
    fail_msg("%s", why);
}

struct other {
    pthread_t thread;
    struct server *server;
    int fd;
};

static void *serve(void *arg)
{
    struct other *o = arg;

    server_run(o->server, o->fd);
    close(o->fd);
    return NULL;
}

static void analyse(const char *path, struct crew *crew, struct analysis *a)
{
    const struct engine *engines[] = { &engine_wcp, &engine_mc };
    struct engine_options options = { .jobs = 1, .crew = crew };
    struct error err;
    struct trace *t = trace_open(path, &err);

    assert_non_null(t);
    assert_int_equal(analysis_run(t, engines, 2, &options, NULL, a, &err), 0);
    trace_close(t);
}

static void expect_same(const struct engine_result *a, const struct engine_result *b)
{
    assert_int_equal(a->races.count, b->races.count);
    for (size_t i = 0; i < a->races.count; i++) {
        const struct race *r = &a->races.races[i], *s = &b->races.races[i];

        assert_int_equal(r->first.position, s->first.position);
        assert_int_equal(r->second.position, s->second.position);
        assert_int_equal(r->strength, s->strength);
        assert_int_equal(r->count, s->count);
        assert_int_equal(r->nwitness, s->nwitness);
        if (r->nwitness)
            assert_memory_equal(r->witness, s->witness, r->nwitness * sizeof(*r->witness));
    }
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->ncounters, b->ncounters);
    for (size_t i = 0; i < a->ncounters; i++) {
        assert_string_equal(a->counters[i].name, b->counters[i].name);
        assert_int_equal(a->counters[i].value, b->counters[i].value);
    }
}

static void servers_change_nothing_in_the_result(void **state)
{
    const struct server_hooks hooks = { open_it, do_not_complain, NULL };
    const struct engine_options options = { .jobs = 2 };
    struct server *server = server_new(&options, &hooks);
    struct remote_trace trace = { 0 };
    struct analysis alone, together;
    struct sockaddr_in at;
    struct crew *c = crew_new(listen_here(&at), &secret, 1);
    struct other others[2];
    char path[256], *text = make_text();
    struct error err;

    (void)state;
    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text, strlen(text));
    analyse(path, NULL, &alone);
    assert_true(alone.runs[1].result.races.count > 10);
    for (uint32_t i = 0; i < 2; i++) {
        others[i] = (struct other){ .server = server, .fd = connect_there(&at) };
        assert_int_equal(crew_join(others[i].fd, &secret, 1, &err), 0);
        assert_int_equal(pthread_create(&others[i].thread, NULL, serve, &others[i]), 0);
    }
    while (crew_stats(c).seats < 2)
        usleep(1000);
    assert_int_equal(remote_trace_read(&trace, path, &err), 0);
    crew_set_trace(c, &trace);
    /* At times we are faster than the others can answer. */
    for (int again = 0; again < 3 || (again < 100 && !crew_stats(c).answered); again++) {
        analyse(path, c, &together);
        for (size_t i = 0; i < 2; i++)
            expect_same(&alone.runs[i].result, &together.runs[i].result);
        analysis_release(&together);
    }
    assert_int_equal(crew_stats(c).lost, 0);
    assert_true(crew_stats(c).answered > 0);
    crew_free(c);
    for (int i = 0; i < 2; i++)
        pthread_join(others[i].thread, NULL);
    server_free(server);
    remote_trace_release(&trace);
    analysis_release(&alone);
    unlink(path);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_handed_out_once_and_in_order),
        cmocka_unit_test(what_a_lost_seat_had_is_handed_out_again),
        cmocka_unit_test(idle_threads_take_over_what_is_away),
        cmocka_unit_test(a_batch_ends_early_when_schedules_fill_the_memory),
        cmocka_unit_test(what_is_left_when_stopped_is_undecided),
        cmocka_unit_test(only_who_knows_the_secret_is_let_in),
        cmocka_unit_test(good_seats_answer),
        cmocka_unit_test(a_seat_that_leaves_costs_its_share_only),
        cmocka_unit_test(a_seat_that_refuses_is_not_asked_again),
        cmocka_unit_test(nobody_waits_for_a_silent_seat),
        cmocka_unit_test(servers_change_nothing_in_the_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
