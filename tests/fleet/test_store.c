/* test_store.c - the store, with SQLite and (with_postgres) PostgreSQL */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fleet/page.h"
#include "fleet/races.h"
#include "fleet/store.h"
#include "fleet/store_inside.h"

static char folder[] = "/tmp/heddle-store-XXXXXX";
static char *sqlite_path;

enum { PATIENCE_MS = 20000 };

/* The store under test: the test's state says which. */
static const char *where(void **state)
{
    if (strcmp(*state, "sqlite") == 0)
        return sqlite_path;
    if (!getenv("HEDDLE_TEST_POSTGRES"))
        skip();
    return getenv("HEDDLE_TEST_POSTGRES");
}

static void remove_file(const char *path)
{
    const char *tails[] = { "", "-wal", "-shm", "-journal" };

    for (int i = 0; i < 4; i++) {
        char *name = xasprintf("%s%s", path, tails[i]);

        unlink(name);
        free(name);
    }
}

/* An empty place for it. */
static void clear(const char *at)
{
    struct error err;
    struct store *s;

    if (!store_is_server(at)) {
        remove_file(at);
        return;
    }
    s = store_open(at, SQL_CREATE, PATIENCE_MS, &err);
    assert_non_null(s);
    assert_true(store_run_sql(s, &err, NULL, NULL, "DROP SCHEMA heddle CASCADE", "") >= 0);
    store_close(s);
}

static struct store *open_store(const char *at)
{
    struct error err;
    struct store *s = store_open(at, SQL_CREATE, PATIENCE_MS, &err);

    if (!s)
        fail_msg("%s", err.text);
    return s;
}

static struct store *fresh(void **state)
{
    const char *at = where(state);

    clear(at);
    return open_store(at);
}

/* ---- runs by hand ---- */

/* A program's id: the letters of its name, and zeros. */
static const char *id_of(const char *name)
{
    static char ids[64][FLEET_ID_CHARS + 1];
    char id[FLEET_ID_CHARS + 1] = { 0 };
    int i = 0;

    memset(id, '0', FLEET_ID_CHARS);
    for (const char *p = name; *p; p++, i += 2)
        snprintf(id + i, 3, "%02x", (unsigned char)*p);
    id[i] = '0';
    for (i = 0; ids[i][0] && strcmp(ids[i], id) != 0; i++)
        assert_true(i < 62);
    return memcpy(ids[i], id, sizeof(id));
}

static struct fleet_result a_run(const char *program)
{
    struct fleet_result r = { 0 };

    fleet_new_id(r.run);
    r.program = id_of(program);
    r.name = "prog";
    r.path = "/bin/prog";
    r.host = "here";
    r.pid = 7;
    r.started_ms = fleet_now_ms();
    return r;
}

static void put(struct store *s, struct fleet_result *r, int wanted)
{
    struct error err = { { 0 } };
    int got = store_put(s, r, &err);

    if (got != wanted)
        fail_msg("put: %d, not %d: %s", got, wanted, err.text);
}

/* Sites 0000000a:0 to 0000000a:5. Classes 0 = {0,1,2}, 1 = {3,4}, 2 = {5}; pairs 0-0, 0-1, 2-2: 6 +
 * 6 + 1. Refined: site 0 with itself, and 0 with 3. */
static void put_static(struct store *s, const char *program)
{
    struct fleet_result r = a_run(program);
    static const int group[] = { 0, 0, 0, 1, 1, 2 };

    r.kind = FLEET_STATIC;
    for (int i = 0; i < 6; i++) {
        char name[24];

        snprintf(name, sizeof(name), "0000000a:%d", i);
        fleet_add_site(&r, (struct fleet_site){ .name = name,
                                                .location = "a.c:1:1",
                                                .function = "f",
                                                .access = "write",
                                                .group = group[i],
                                                .lockgroup = i == 0   ? 0
                                                             : i == 3 ? 1
                                                                      : -1 });
    }
    fleet_add_groups(&r, (struct fleet_groups){ 0, 0, false });
    fleet_add_groups(&r, (struct fleet_groups){ 0, 1, false });
    fleet_add_groups(&r, (struct fleet_groups){ 2, 2, false });
    fleet_add_groups(&r, (struct fleet_groups){ 0, 0, true });
    fleet_add_groups(&r, (struct fleet_groups){ 0, 1, true });
    r.pairs = "heddle-pairs 1\n";
    r.ended_ms = r.started_ms + 5;
    put(s, &r, 1);
    put(s, &r, 0); /* once */
    fleet_result_release(&r);
}

static struct fleet_result put_caper(struct store *s, const char *program, const char *sites)
{
    struct fleet_result r = a_run(program);

    r.kind = FLEET_CAPER;
    for (; *sites; sites++) {
        char name[] = "0000000a:x";

        name[9] = *sites;
        fleet_add_escaped(&r, name);
    }
    r.ended_ms = r.started_ms + 5;
    put(s, &r, 1);
    return r;
}

static const char a_race[] =
    "{\"id\":\"00000000abcd0001\",\"variable\":\"x\",\"engines\":[\"chase\"],"
    "\"strength\":\"confirmed\",\"count\":1,\"accesses\":["
    "{\"event\":0,\"thread\":\"T1\",\"op\":\"write\",\"location\":\"a.c:1\",\"locks\":[]},"
    "{\"event\":1,\"thread\":\"T2\",\"op\":\"write\",\"location\":\"a.c:2\",\"locks\":[]}]}";

static void sight(struct fleet_result *r, uint32_t n, const char *s1, const char *s2,
                  uint64_t count)
{
    fleet_add_sighting(r, (struct fleet_sighting){ .number = n,
                                                   .s1 = s1,
                                                   .s2 = s2,
                                                   .count = count,
                                                   .seen_ms = fleet_now_ms(),
                                                   .id = "00000000abcd0001",
                                                   .race = a_race });
}

static int copy_program(void *arg, const struct store_program *p)
{
    *(struct store_program *)arg = *p;
    return 0;
}

static struct store_program status(struct store *s)
{
    struct store_program p = { 0 };
    struct error err;

    if (store_programs(s, copy_program, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static struct store_claim claim(struct store *s, struct fleet_result *run, int64_t lease_ms)
{
    struct store_claim c;
    struct error err;

    if (store_claim(s, run, lease_ms, &c, &err) < 0)
        fail_msg("%s", err.text);
    run->kind = c.kind;
    run->s1 = fleet_string(run, c.s1);
    run->s2 = fleet_string(run, c.s2);
    return c;
}

static enum fleet_kind next_kind(struct store *s, struct fleet_result *run)
{
    struct store_claim c = claim(s, run, 60000);

    store_claim_release(&c);
    return c.kind;
}

/* ---- tests ---- */

static void the_first_run_makes_the_pairs_and_others_run_plain_meanwhile(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result first = a_run("p"), second = a_run("p"), third = a_run("p");

    assert_int_equal(next_kind(s, &first), FLEET_STATIC);
    assert_int_equal(next_kind(s, &second), FLEET_PLAIN);
    put_static(s, "p");
    assert_int_equal(next_kind(s, &third), FLEET_CAPER); /* nothing is possible yet */
    fleet_result_release(&first);
    fleet_result_release(&second);
    fleet_result_release(&third);
    store_close(s);
}

static void a_killed_analysis_is_made_by_another_run_when_its_lease_is_up(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result first = a_run("p"), second = a_run("p");
    struct store_claim c = claim(s, &first, 1);

    store_claim_release(&c);
    usleep(20000);
    assert_int_equal(next_kind(s, &second), FLEET_STATIC);
    assert_int_equal(status(s).lost, 1);
    assert_int_equal(status(s).running, 1);
    fleet_result_release(&first);
    fleet_result_release(&second);
    store_close(s);
}

static void pairs_are_counted_by_classes(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r;
    struct store_program p;

    put_static(s, "p");
    p = status(s);
    assert_int_equal(p.pairs, 13);
    assert_int_equal(p.lockset, 2);
    assert_int_equal(p.possible, 0);
    r = put_caper(s, "p", "034");
    p = status(s);
    assert_int_equal(p.possible, 3); /* 0-0, 0-3, 0-4 */
    assert_int_equal(p.escaped, 3);
    fleet_result_release(&r);
    r = put_caper(s, "p", "0345"); /* one new site: 5-5 */
    assert_int_equal(status(s).possible, 4);
    fleet_result_release(&r);
    store_close(s);
}

static void two_runs_do_not_chase_the_same_pair(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result caper, runs[5];
    char seen[5][64];
    int chases = 0;

    put_static(s, "p");
    caper = put_caper(s, "p", "0345");
    for (int i = 0; i < 5; i++) { /* four pairs; every other run is caper */
        runs[i] = a_run("p");
        while (next_kind(s, &runs[i]) != FLEET_CHASE) {
            fleet_result_release(&runs[i]);
            runs[i] = a_run("p");
        }
        snprintf(seen[i], sizeof(seen[i]), "%s %s", runs[i].s1, runs[i].s2);
        for (int j = 0; j < i && i < 4; j++)
            assert_string_not_equal(seen[i], seen[j]);
        chases++;
    }
    /* The two that no lock protects came first, and the fifth had to take one that is held. */
    assert_true(strcmp(seen[0], "0000000a:0 0000000a:0") == 0 ||
                strcmp(seen[0], "0000000a:0 0000000a:3") == 0);
    assert_true(strcmp(seen[1], "0000000a:0 0000000a:0") == 0 ||
                strcmp(seen[1], "0000000a:0 0000000a:3") == 0);
    assert_int_equal(chases, 5);
    for (int i = 0; i < 5; i++)
        fleet_result_release(&runs[i]);
    fleet_result_release(&caper);
    store_close(s);
}

static void asking_again_gives_the_same_answer(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result caper, run = a_run("p");
    struct store_claim c, again;

    put_static(s, "p");
    caper = put_caper(s, "p", "05");
    do {
        fleet_new_id(run.run);
        c = claim(s, &run, 60000);
    } while (c.kind != FLEET_CHASE);
    again = claim(s, &run, 60000);
    assert_int_equal(again.kind, FLEET_CHASE);
    assert_string_equal(again.s1, c.s1);
    assert_string_equal(again.s2, c.s2);
    store_claim_release(&c);
    store_claim_release(&again);
    fleet_result_release(&run);
    fleet_result_release(&caper);
    store_close(s);
}

/* Runs that have the pair now count as well. */
static void a_claim_says_how_often_its_pair_was_tried(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r, caper;
    uint64_t chases = 0;

    put_static(s, "p");
    caper = put_caper(s, "p", "0"); /* 0-0 */
    for (int i = 0; i < 12; i++) {
        struct store_claim c;

        r = a_run("p");
        c = claim(s, &r, 60000);
        if (c.kind == FLEET_CHASE) {
            assert_int_equal(c.tries, chases);
            chases++;
            r.kind = c.kind;
            r.s1 = fleet_string(&r, c.s1);
            r.s2 = fleet_string(&r, c.s2);
            if (i % 2) {
                r.ended_ms = r.started_ms + 1;
                put(s, &r, 1);
            }
        }
        store_claim_release(&c);
        fleet_result_release(&r);
    }
    assert_true(chases >= 4);
    fleet_result_release(&caper);
    store_close(s);
}

static void the_sites_of_a_pair_change_places(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r;
    int straight = 0, turned = 0;

    put_static(s, "p");
    r = put_caper(s, "p", "03"); /* 0-0, 0-3 */
    fleet_result_release(&r);
    for (int i = 0; i < 16; i++) {
        r = a_run("p");
        if (next_kind(s, &r) == FLEET_CHASE) {
            straight += strcmp(r.s1, "0000000a:0") == 0 && strcmp(r.s2, "0000000a:3") == 0;
            turned += strcmp(r.s1, "0000000a:3") == 0 && strcmp(r.s2, "0000000a:0") == 0;
        }
        r.ended_ms = r.started_ms + 1;
        put(s, &r, 1);
        fleet_result_release(&r);
    }
    assert_true(straight >= 1 && turned >= 1);
    store_close(s);
}

static void shares_of_caper_before_and_in_the_steady_state(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r;
    int kinds[4] = { 0 };

    put_static(s, "p");
    r = put_caper(s, "p", "0345");
    fleet_result_release(&r);
    for (int i = 0; i < 10; i++) { /* half and half; no caper run ends, so none is quiet */
        r = a_run("p");
        kinds[next_kind(s, &r)]++;
        fleet_result_release(&r);
    }
    assert_int_equal(kinds[FLEET_CAPER], 5);
    assert_int_equal(kinds[FLEET_CHASE], 5);
    for (int i = 0; i < STORE_QUIET_RUNS; i++) {
        r = put_caper(s, "p", "0345");
        fleet_result_release(&r);
    }
    assert_true(status(s).steady);
    memset(kinds, 0, sizeof(kinds));
    for (int i = 0; i < 200; i++) {
        r = a_run("p");
        kinds[next_kind(s, &r)]++;
        fleet_result_release(&r);
    }
    assert_in_range(kinds[FLEET_CAPER], 3, 12);
    store_close(s);
}

static void a_result_counts_once_however_often_it_is_put(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r = a_run("p");
    struct store_program p;

    put_static(s, "p");
    r.kind = FLEET_CHASE;
    r.s1 = "0000000a:3";
    r.s2 = "0000000a:0";
    r.ended_ms = r.started_ms + 1;
    sight(&r, 0, "0000000a:3", "0000000a:0", 5);
    put(s, &r, 1);
    put(s, &r, 0);
    store_close(s);
    s = open_store(where(state)); /* and later */
    put(s, &r, 0);
    p = status(s);
    assert_int_equal(p.chased, 1);
    assert_int_equal(p.confirmed, 1);
    assert_int_equal(p.races, 1);
    assert_int_equal(p.sightings, 5);
    assert_int_equal(p.runs[FLEET_CHASE], 1);
    fleet_result_release(&r);
    store_close(s);
}

static void sightings_may_come_before_the_end_and_count_once(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r = a_run("p");
    struct error err;

    put_static(s, "p");
    r.kind = FLEET_CHASE;
    r.s1 = r.s2 = "0000000a:0";
    assert_int_equal(store_note_run(s, &r, 60000, &err), 0);
    sight(&r, 0, "0000000a:0", "0000000a:0", 2);
    put(s, &r, 1);
    assert_int_equal(status(s).running, 1);
    assert_int_equal(status(s).confirmed, 1);
    r.sightings[0].count = 9;
    sight(&r, 1, "0000000a:0", "0000000a:0", 1);
    r.ended_ms = r.started_ms + 1;
    put(s, &r, 1);
    assert_int_equal(status(s).sightings, 10);
    assert_int_equal(status(s).running, 0);
    fleet_result_release(&r);
    store_close(s);
}

static void a_confirmed_pair_is_not_chased_again(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r;

    put_static(s, "p");
    r = put_caper(s, "p", "5"); /* 5-5 alone */
    fleet_result_release(&r);
    r = a_run("p");
    r.kind = FLEET_CHASE;
    r.s1 = r.s2 = "0000000a:5";
    r.ended_ms = r.started_ms + 1;
    sight(&r, 0, "0000000a:5", "0000000a:5", 1);
    put(s, &r, 1);
    fleet_result_release(&r);
    for (int i = 0; i < 6; i++) {
        r = a_run("p");
        assert_int_equal(next_kind(s, &r), FLEET_CAPER);
        fleet_result_release(&r);
    }
    store_close(s);
}

static void a_late_result_of_a_lost_run_counts(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r, other;
    struct store_claim c;

    put_static(s, "p");
    r = put_caper(s, "p", "5");
    fleet_result_release(&r);
    r = a_run("p");
    c = claim(s, &r, 1);
    store_claim_release(&c);
    usleep(20000);
    other = a_run("p");
    next_kind(s, &other);
    assert_int_equal(status(s).lost, 1);
    r.ended_ms = r.started_ms + 1;
    put(s, &r, 1);
    assert_int_equal(status(s).lost, 0);
    fleet_result_release(&r);
    fleet_result_release(&other);
    store_close(s);
}

static void what_is_exported_makes_the_same_store(void **state)
{
    struct store *s = fresh(state), *copy;
    struct fleet_result r, caper;
    char *text[2] = { 0 }, *path = xasprintf("%s/copy", folder);
    size_t bytes[2], at = 0;
    struct error err;
    FILE *f;

    put_static(s, "p");
    caper = put_caper(s, "p", "035");
    r = a_run("p");
    r.kind = FLEET_CHASE;
    r.s1 = "0000000a:3";
    r.s2 = "0000000a:0";
    r.ended_ms = r.started_ms + 1;
    sight(&r, 0, "0000000a:3", "0000000a:0", 5);
    put(s, &r, 1);
    f = open_memstream(&text[0], &bytes[0]);
    assert_int_equal(store_export(s, f, &err), 0);
    fclose(f);
    clear(path);
    copy = open_store(path);
    for (int round = 0; round < 2; round++) { /* merging twice is merging once */
        for (at = 0; at < bytes[0];) {
            size_t n = strcspn(text[0] + at, "\n");
            struct fleet_result line = { 0 };

            assert_int_equal(fleet_result_read(&line, text[0] + at, n, &err), 0);
            put(copy, &line, round == 0);
            fleet_result_release(&line);
            at += n + 1;
        }
    }
    f = open_memstream(&text[1], &bytes[1]);
    assert_int_equal(store_export(copy, f, &err), 0);
    fclose(f);
    assert_string_equal(text[0], text[1]);
    assert_int_equal(status(copy).possible, status(s).possible);
    assert_int_equal(status(copy).possible, 3); /* 0-0, 0-3, 5-5 */
    assert_int_equal(status(copy).confirmed, 1);
    free(text[0]);
    free(text[1]);
    free(path);
    fleet_result_release(&r);
    fleet_result_release(&caper);
    store_close(copy);
    store_close(s);
}

/* A program with more possible pairs than are listed: all get their turn. */
static void many_pairs_are_listed_in_portions(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r = a_run("p"), run;
    struct store_program p;
    struct error err;
    enum { SITES = 600 };

    r.kind = FLEET_STATIC;
    for (int i = 0; i < SITES; i++) {
        char name[24];

        snprintf(name, sizeof(name), "0000000b:%d", i);
        fleet_add_site(&r, (struct fleet_site){ .name = name, .group = 0, .lockgroup = -1 });
        fleet_add_escaped(&r, name);
    }
    fleet_add_groups(&r, (struct fleet_groups){ 0, 0, false });
    r.ended_ms = r.started_ms + 1;
    put(s, &r, 1);
    fleet_new_id(r.run);
    r.kind = FLEET_CAPER;
    put(s, &r, 1);
    p = status(s);
    assert_int_equal(p.possible, SITES * (SITES + 1) / 2);
    run = a_run("p");
    next_kind(s, &run);
    fleet_result_release(&run);
    /* All listed ones were chased; the next claim finds others. */
    assert_true(store_run_sql(s, &err, NULL, NULL, "UPDATE pairs SET chased = 1", "") ==
                STORE_LISTED);
    do {
        fleet_result_release(&run);
        run = a_run("p");
    } while (next_kind(s, &run) != FLEET_CHASE);
    assert_true(store_run_sql(s, &err, NULL, NULL, "UPDATE pairs SET spread = spread", "") >
                STORE_LISTED);
    fleet_result_release(&run);
    fleet_result_release(&r);
    store_close(s);
}

/* ---- what is not a store ---- */

static void refused(const char *at, enum sql_access access, const char *text)
{
    struct error err = { { 0 } };
    struct store *s = store_open(at, access, 0, &err);

    assert_null(s);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
}

static void a_store_of_a_newer_version_is_refused(void **state)
{
    struct store *s = fresh(state);
    struct error err;

    store_run_sql(s, &err, NULL, NULL, "UPDATE meta SET value = '99'", "");
    store_close(s);
    refused(where(state), SQL_CREATE, "its version is 99, this program knows up to 1");
    refused(where(state), SQL_READ, "its version is 99");
    if (!store_is_server(where(state)))
        remove_file(where(state));
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "w");

    fwrite(bytes, 1, n, f);
    fclose(f);
}

static void files_that_are_no_store_are_refused(void **state)
{
    char *other = xasprintf("%s/other", folder), noise[8192];
    struct error err;
    struct store *s;

    (void)state;
    memset(noise, 'x', sizeof(noise));
    write_bytes(other, noise, sizeof(noise));
    refused(other, SQL_CREATE, "file is not a database");
    refused(other, SQL_READ, "file is not a database");
    remove_file(other);
    refused(other, SQL_READ, "unable to open database file");
    refused(other, SQL_WRITE, "unable to open database file");
    write_bytes(other, "", 0);
    refused(other, SQL_READ, "it is empty");
    remove_file(other);
    s = open_store(other); /* somebody else's tables */
    store_run_sql(s, &err, NULL, NULL, "DROP TABLE meta", "");
    store_close(s);
    refused(other, SQL_CREATE, "this is a database of something else");
    remove_file(other);
    free(other);
}

static void a_damaged_file_is_found_out(void **state)
{
    struct store *s = fresh(state);
    struct error err = { { 0 } };
    char junk[512];
    int fd;

    for (int i = 0; i < 30; i++) {
        char name[32];

        snprintf(name, sizeof(name), "p%d", i);
        put_static(s, name);
    }
    assert_int_equal(store_check(s, &err), 0);
    store_close(s);
    memset(junk, 0x5a, sizeof(junk));
    fd = open(sqlite_path, O_WRONLY);
    for (int page = 3; page < 12; page++)
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * 4096), sizeof(junk));
    close(fd);
    s = store_open(sqlite_path, SQL_READ, 0, &err);
    if (s) /* the first page is whole */
        assert_int_equal(store_check(s, &err), -1);
    assert_true(err.text[0] != 0);
    store_close(s);
    remove_file(sqlite_path);
}

/* In a child: files must not grow. What was there stays whole. */
static void a_full_disk_loses_nothing_that_was_there(void **state)
{
    struct store *s = fresh(state);
    struct stat st;
    struct error err;
    int status_of_child;
    pid_t pid;

    put_static(s, "p");
    store_close(s);
    assert_int_equal(stat(sqlite_path, &st), 0);
    pid = fork();
    if (pid == 0) {
        struct rlimit limit = { (rlim_t)st.st_size, (rlim_t)st.st_size };
        struct fleet_result r = a_run("q");
        int failed = 0;

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        s = store_open(sqlite_path, SQL_WRITE, 0, &err);
        r.kind = FLEET_CHASE;
        r.s1 = r.s2 = "0000000a:0";
        r.ended_ms = 5;
        for (uint32_t i = 0; i < 2000; i++)
            sight(&r, i, "0000000a:0", "0000000a:0", 1);
        failed = !s || store_put(s, &r, &err) < 0;
        store_close(s);
        _exit(failed ? 42 : 0);
    }
    waitpid(pid, &status_of_child, 0);
    assert_true(WIFEXITED(status_of_child));
    assert_int_equal(WEXITSTATUS(status_of_child), 42);
    s = open_store(sqlite_path);
    assert_int_equal(store_check(s, &err), 0);
    assert_int_equal(status(s).pairs, 13);
    put_static(s, "another");
    store_close(s);
}

/* In a child that is nobody: the file and its folder can be read only. */
static void a_store_that_is_read_only_can_be_read(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r = a_run("q");
    struct error err = { { 0 } };
    int code;
    pid_t pid;

    put_static(s, "p");
    store_close(s);
    assert_int_equal(chmod(sqlite_path, 0444) | chmod(folder, 0555), 0);
    pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) < 0)
            _exit(3);
        s = store_open(sqlite_path, SQL_READ, 0, &err);
        if (!s || status(s).pairs != 13)
            _exit(1);
        store_close(s);
        s = store_open(sqlite_path, SQL_CREATE, 0, &err);
        r.ended_ms = 1;
        if (s && store_put(s, &r, &err) >= 0)
            _exit(2);
        _exit(strstr(err.text, "readonly") || strstr(err.text, "unable to open") ? 0 : 4);
    }
    waitpid(pid, &code, 0);
    chmod(folder, 0755);
    assert_int_equal(code, 0);
    fleet_result_release(&r);
}

#define ID      "00000000000000000000000000000001"
#define HEAD(k) "{\"fleet\":1,\"run\":\"" ID "\",\"kind\":\"" k "\",\"program\":\"" ID "\""
#define SIGHTING                                                                                   \
    HEAD("chase")                                                                                  \
    ",\"s1\":\"0000000a:1\",\"s2\":\"0000000a:2\",\"sightings\":[{\"number\":1,\"count\":1,"       \
    "\"s1\":\"0000000a:1\",\"s2\":\"0000000a:2\",\"seen\":1,"
#define RACE "\"id\":\"00000000abcd0001\",\"race\":"

static void results_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        { "", "no result" },
        { "[1]", "not an object" },
        { "{\"fleet\":1", "no result" },
        { "{\"fleet\":1,\"fleet\":1}", "duplicate" },
        { "{\"fleet\":2,\"run\":\"" ID "\",\"kind\":\"plain\"}", "fleet: expected version 1" },
        { "{\"fleet\":1,\"run\":\"zz\",\"kind\":\"plain\"}", "run: expected 32 hex digits" },
        { "{\"fleet\":1,\"run\":\"" ID "\",\"kind\":\"odd\"}", "kind: expected one of" },
        { "{\"fleet\":1,\"run\":\"" ID "\",\"kind\":\"plain\"}", "program: expected a text" },
        { "{\"fleet\":1,\"run\":\"" ID "\",\"kind\":\"plain\",\"program\":\"<script>\"}",
          "program: expected 32 hex digits" },
        { HEAD("chase") "}", "s1: expected a text" },
        { HEAD("chase") ",\"s1\":\"a\",\"s2\":\"b\"}", "s1: expected a site" },
        { HEAD("plain") ",\"s1\":\"0000000a:9999999999\",\"s2\":\"0000000a:1\"}",
          "s1: expected a site" },
        { HEAD("plain") ",\"name\":\"a\\u001b[2J\"}", "name: has control characters" },
        { HEAD("plain") ",\"note\":\"\\u202e\"}", "note: has control characters" },
        { HEAD("plain") ",\"host\":7}", "host: expected a text" },
        { HEAD("plain") ",\"pid\":-1}", "pid: expected a number" },
        { HEAD("plain") ",\"exit\":256}", "exit: expected a number" },
        { HEAD("plain") ",\"started\":253402300800000}", "started: expected a number" },
        { HEAD("plain") ",\"ended\":1.5}", "ended: expected an integer" },
        { HEAD("plain") ",\"dropped\":-5}", "dropped: expected a number" },
        { HEAD("plain") ",\"sites\":{}}", "sites: expected an array" },
        { HEAD("static") ",\"classes\":[[2,1,0]]}", "classes: expected two numbers" },
        { HEAD("static") ",\"sites\":[[\"x\"]]}", "sites: expected a site" },
        { HEAD("static") ",\"sites\":[[\"0000000a:1\",null,null,null,-2,0]]}",
          "sites: expected classes" },
        { HEAD("static") ",\"sites\":[[\"0000000a:1\",null,null,null,\"1\",0]]}",
          "classes as integers" },
        { HEAD("caper") ",\"escaped\":[\"<b>\"]}", "escaped: expected a site" },
        { SIGHTING "\"id\":\"<img>\",\"race\":{}}]}", "id: expected the fingerprint" },
        { SIGHTING RACE "3}]}", "race: expected an object" },
        { SIGHTING RACE "{}}]}", "race: races[0]: 'id' is missing" },
        { SIGHTING RACE "{\"id\":\"<script>alert(1)</script>\"}}]}", "race: " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet_result r = { 0 };
        struct error err = { { 0 } };

        assert_int_equal(fleet_result_read(&r, cases[i].line, strlen(cases[i].line), &err), -1);
        if (!strstr(err.text, cases[i].error))
            fail_msg("'%s' is not in '%s'", cases[i].error, err.text);
    }
}

/* A race must be what it says, and of the id that it is kept under. */
static void a_sighting_must_be_a_confirmed_race(void **state)
{
    struct error err = { { 0 } };
    char *text = xasprintf("%s", a_race), *at = strstr(text, "confirmed");

    (void)state;
    assert_int_equal(races_check(a_race, "00000000abcd0001", &err), 0);
    assert_int_equal(races_check(a_race, "00000000abcd0002", &err), -1);
    assert_string_equal(err.text, "its id is another");
    memcpy(at, "witnessed", 9);
    assert_int_equal(races_check(text, "00000000abcd0001", &err), -1);
    assert_string_equal(err.text, "it is not confirmed");
    free(text);
}

/* A number of a class is no size: a line of a hundred bytes must not take gigabytes. */
static void classes_may_have_any_numbers(void **state)
{
    static const char line[] =
        HEAD("static") ",\"ended\":1,\"sites\":[[\"0000000a:1\",null,null,null,"
                       "2147483647,-1]],\"classes\":[[0,2147483647,0],"
                       "[2147483647,2147483647,0]]}";
    struct rlimit old, limit;
    struct fleet_result r = { 0 };
    struct error err = { { 0 } };

    (void)state;
    assert_int_equal(fleet_result_read(&r, line, strlen(line), &err), 0);
    getrlimit(RLIMIT_AS, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)4 << 30;
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &limit);
#endif
    assert_int_equal(fleet_count_pairs(&r, false), 1);
    setrlimit(RLIMIT_AS, &old);
    fleet_result_release(&r);
}

/* Rows that Heddle cannot have written are skipped and named; the others are still there. */
static void rows_of_others_are_skipped_and_named(void **state)
{
    static const char *const bad[] = {
        "INSERT INTO programs (id, name) VALUES ('<script>alert(1)</script>', 'x')",
        "INSERT INTO runs (id, program, kind, started) VALUES ('<img src=x>', '" ID
        "', 'chase', 1)",
        "INSERT INTO runs (id, program, kind, started) VALUES ('" ID "', '" ID "', '<b>', 1)",
        "INSERT INTO races SELECT program, '<svg onload=x>', a, b, swapped, first_run, first_seen,"
        " json FROM races",
        "INSERT INTO races SELECT program, '00000000abcd0009', a, b, swapped, first_run, "
        "first_seen,"
        " '{\"id\":\"</title>\"}' FROM races WHERE id = '00000000abcd0001'",
        "INSERT INTO sightings SELECT run, number + 1, program, a, b, swapped, '<svg onload=x>', "
        "seen,"
        " count, json FROM sightings",
        "INSERT INTO sightings SELECT run, number + 2, program, a, b, swapped, '00000000abcd0009',"
        " seen, count, json FROM sightings WHERE number = 0",
        "UPDATE programs SET name = 'p' || CAST(X'1b5d303b' AS TEXT), path = NULL",
    };
    struct store *s = fresh(state);
    struct fleet_result r = a_run("p");
    struct status_about about = { .store = "here" };
    struct findings f = { 0 };
    struct error err;
    FILE *null = fopen("/dev/null", "w");
    const char *type;

    put_static(s, "p");
    r.kind = FLEET_CHASE;
    r.s1 = r.s2 = "0000000a:0";
    r.ended_ms = r.started_ms + 1;
    sight(&r, 0, r.s1, r.s2, 1);
    put(s, &r, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (store_run_sql(s, &err, NULL, NULL, bad[i], "") < 0)
            fail_msg("%s: %s", bad[i], err.text);
    assert_string_equal(status(s).name, "p\\x1b]0;");
    assert_int_equal(races_load(s, &about, &f, &err), 0);
    assert_int_equal(f.count, 1);
    assert_int_equal(status_runs_json(s, 100, null, &err), 0);
    assert_int_equal(page_answer(s, &about, "/", null, &type), 200);
    assert_int_equal(store_skipped(s), 5);
    for (size_t i = 0; store_skip_text(s, i); i++)
        assert_non_null(
            strchr("pr", store_skip_text(s, i)[0])); /* "program ...", "race ...", "run ..." */
    assert_int_equal(store_export(s, null, &err), 0);
    fclose(null);
    findings_release(&f);
    fleet_result_release(&r);
    store_close(s);
}

static void what_is_given_back_was_never_asked_for(void **state)
{
    struct store *s = fresh(state);
    struct fleet_result r;
    struct error err;

    put_static(s, "p");
    r = put_caper(s, "p", "5");
    fleet_result_release(&r);
    for (int i = 0; i < 4; i++) { /* each time the same: nothing is left of the one before */
        struct store_claim c;

        r = a_run("p");
        c = claim(s, &r, 60000);
        assert_int_equal(c.kind, FLEET_CHASE);
        assert_int_equal(c.tries, 0);
        r.kind = c.kind;
        assert_int_equal(store_give_back(s, &r, &err), 0);
        assert_int_equal(status(s).running, 0);
        store_claim_release(&c);
        fleet_result_release(&r);
    }
    store_close(s);
}

static void a_server_that_is_not_there_is_said_and_no_password_shown(void **state)
{
    struct error err = { { 0 } };

    (void)state;
    assert_null(store_open("postgres://u:secret@/x?host=/proc/nonexistent", SQL_CREATE, 0, &err));
    assert_null(strstr(err.text, "secret"));
    if (!strstr(err.text, "heddle-postgres.so")) /* else the module is not built here */
        assert_non_null(strstr(err.text, "cannot open the store 'postgres://u@/x"));
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    sqlite_path = xasprintf("%s/store", folder);
    return 0;
}

static int tear_down(void **state)
{
    char *command = xasprintf("rm -rf %s", folder);
    int r = system(command);

    (void)state;
    free(command);
    free(sqlite_path);
    return r;
}

#define BOTH(f)                                                                                    \
    { #f " (SQLite)", f, NULL, NULL, (void *)"sqlite" },                                           \
        { #f " (PostgreSQL)", f, NULL, NULL, (void *)"postgres" }
#define SQLITE(f) { #f, f, NULL, NULL, (void *)"sqlite" }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(the_first_run_makes_the_pairs_and_others_run_plain_meanwhile),
        BOTH(a_killed_analysis_is_made_by_another_run_when_its_lease_is_up),
        BOTH(pairs_are_counted_by_classes),
        BOTH(two_runs_do_not_chase_the_same_pair),
        BOTH(asking_again_gives_the_same_answer),
        BOTH(a_claim_says_how_often_its_pair_was_tried),
        BOTH(the_sites_of_a_pair_change_places),
        BOTH(shares_of_caper_before_and_in_the_steady_state),
        BOTH(a_result_counts_once_however_often_it_is_put),
        BOTH(sightings_may_come_before_the_end_and_count_once),
        BOTH(a_confirmed_pair_is_not_chased_again),
        BOTH(a_late_result_of_a_lost_run_counts),
        BOTH(what_is_exported_makes_the_same_store),
        BOTH(many_pairs_are_listed_in_portions),
        SQLITE(files_that_are_no_store_are_refused),
        SQLITE(a_damaged_file_is_found_out),
        SQLITE(a_full_disk_loses_nothing_that_was_there),
        SQLITE(a_store_that_is_read_only_can_be_read),
        SQLITE(results_that_are_none_are_refused),
        SQLITE(a_sighting_must_be_a_confirmed_race),
        SQLITE(classes_may_have_any_numbers),
        SQLITE(rows_of_others_are_skipped_and_named),
        BOTH(what_is_given_back_was_never_asked_for),
        SQLITE(a_server_that_is_not_there_is_said_and_no_password_shown),
        BOTH(a_store_of_a_newer_version_is_refused), /* last: it leaves the store so */
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
