/* load.c - many runs at once against one store, some of them killed
 *
 *     load STORE SPOOL RUNS AT_ONCE KILL_PERCENT [SEED]
 *
 * Each run is a process that does what `heddle fleet run` does around a program: it asks what to
 * do, makes a result, keeps it in the spool, puts it, drops it from the spool. After each of the
 * two promises (the spool has it, the store has it) it writes a line to a file. Some are killed by
 * SIGKILL at random moments. At the end nothing that was promised may be missing, nothing may be
 * there twice, nothing locked. Prints numbers; exit code 1 where something is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "fleet/spool.h"
#include "fleet/store.h"
#include "fleet/store_inside.h"

enum { SITES = 40, LEASE_MS = 3000, PATIENCE_MS = 60000, KILL_WITHIN_US = 30000 };

static const char program_id[] = "0123456789abcdef0123456789abcdef";
static const char *where, *spool;
static int promises; /* descriptor: "S RUN KIND N SUM" and "P RUN KIND N SUM" */

static _Noreturn void die(const char *what, const struct error *err)
{
    fprintf(stderr, "load: %s: %s\n", what, err ? err->text : strerror(errno));
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- one run ---- */

static void make_static(struct fleet_result *r)
{
    for (int i = 0; i < SITES; i++) {
        char name[24];

        snprintf(name, sizeof(name), "0000000a:%d", i);
        fleet_add_site(r, (struct fleet_site){
                              .name = name, .group = i % 4, .lockgroup = i % 4 == 1 ? 0 : -1 });
    }
    for (uint32_t i = 0; i < 4; i++)
        fleet_add_groups(r, (struct fleet_groups){ i, i, false });
    fleet_add_groups(r, (struct fleet_groups){ 0, 0, true });
}

static void make_escaped(struct fleet_result *r)
{
    for (int i = 0; i < SITES; i++)
        if (rand() % 3 == 0) {
            char name[24];

            snprintf(name, sizeof(name), "0000000a:%d", i);
            fleet_add_escaped(r, name);
        }
}

#define ACCESS                                                                                     \
    "{\"event\":0,\"thread\":\"T1\",\"op\":\"write\",\"location\":\"a.c:1\",\"locks\":[]}"
#define RACE                                                                                       \
    "{\"id\":\"%s\",\"variable\":\"x\",\"engines\":[\"chase\"],\"strength\":\"confirmed\","        \
    "\"count\":1,"                                                                                 \
    "\"accesses\":[" ACCESS "," ACCESS "]}"

static void make_sightings(struct fleet_result *r)
{
    uint32_t n = (uint32_t)(rand() % 4);

    for (uint32_t i = 0; i < n; i++) {
        char *id = xasprintf("%.15s%u", r->run, i);
        char *race = xasprintf(RACE, id);

        fleet_add_sighting(r, (struct fleet_sighting){ .number = i,
                                                       .s1 = r->s1,
                                                       .s2 = r->s2,
                                                       .count = 1 + (uint64_t)rand() % 9,
                                                       .seen_ms = fleet_now_ms(),
                                                       .id = id,
                                                       .race = race });
        free(race);
        free(id);
    }
}

static uint64_t instances(const struct fleet_result *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->nsightings; i++)
        sum += r->sightings[i].count;
    return sum;
}

static void promise(char letter, const struct fleet_result *r)
{
    char *line = xasprintf("%c %s %d %zu %" PRIu64 "\n", letter, r->run, r->kind, r->nsightings,
                           instances(r));

    if (write(promises, line, strlen(line)) < 0)
        die("promises", NULL);
    free(line);
}

static _Noreturn void one_run(unsigned seed)
{
    struct fleet_result r = {
        .program = program_id, .name = "prog", .host = "here", .pid = getpid()
    };
    struct store_claim c;
    struct error err;
    struct store *s;

    srand(seed);
    fleet_new_id(r.run);
    r.started_ms = fleet_now_ms();
    s = store_open(where, SQL_CREATE, PATIENCE_MS, &err);
    if (!s || store_claim(s, &r, LEASE_MS, &c, &err) < 0)
        die("claim", &err);
    r.kind = c.kind;
    r.s1 = fleet_string(&r, c.s1);
    r.s2 = fleet_string(&r, c.s2);
    usleep((useconds_t)rand() % 5000); /* the program */
    if (r.kind == FLEET_STATIC)
        make_static(&r);
    else if (r.kind == FLEET_CAPER)
        make_escaped(&r);
    else if (r.kind == FLEET_CHASE)
        make_sightings(&r);
    r.ended_ms = fleet_now_ms();
    if (spool_keep(spool, &r, &err) < 0)
        die("spool", &err);
    promise('S', &r);
    if (store_put(s, &r, &err) < 0)
        die("put", &err);
    promise('P', &r);
    if (rand() % 10 == 0 && store_put(s, &r, &err) != 0) /* a retry */
        die("put again", &err);
    spool_drop(spool, r.run);
    store_claim_release(&c);
    fleet_result_release(&r);
    store_close(s);
    _exit(0);
}

/* ---- all of them ---- */

struct child {
    pid_t pid;
    int64_t kill_at; /* 0: never */
};

struct totals {
    int killed, failed;
};

static void reap(struct child *children, int at_once, int *alive, struct totals *t)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < at_once; i++)
            if (children[i].pid == pid)
                children[i].pid = 0;
        --*alive;
        t->killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        t->failed += WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGKILL;
    }
}

static void kill_some(struct child *children, int at_once)
{
    for (int i = 0; i < at_once; i++)
        if (children[i].pid && children[i].kill_at && now_us() >= children[i].kill_at) {
            kill(children[i].pid, SIGKILL);
            children[i].kill_at = 0;
        }
}

static struct totals run_all(int runs, int at_once, int percent)
{
    struct child *children = xcalloc((size_t)at_once, sizeof(*children));
    struct totals t = { 0 };
    int started = 0, alive = 0;
    int within = store_is_server(where) ? 8 * KILL_WITHIN_US : KILL_WITHIN_US; /* connecting */

    while (started < runs || alive) {
        for (int i = 0; i < at_once && started < runs; i++) {
            if (children[i].pid)
                continue;
            /* More are chosen until as many have died as asked for: some end before. */
            bool doomed = t.killed * 100 < percent * started && rand() % 3 == 0;
            unsigned seed = (unsigned)rand();

            children[i].kill_at = doomed ? now_us() + rand() % within + 1 : 0;
            children[i].pid = fork();
            if (children[i].pid == 0)
                one_run(seed);
            started++;
            alive++;
        }
        kill_some(children, at_once);
        reap(children, at_once, &alive, &t);
        usleep(300);
    }
    free(children);
    return t;
}

/* ---- what must be true ---- */

static int wrong;

static void check(bool ok, const char *what, int64_t got, int64_t wanted)
{
    if (ok)
        return;
    printf("WRONG: %s: %" PRId64 ", not %" PRId64 "\n", what, got, wanted);
    wrong = 1;
}

static int note(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int64_t *)arg = cells[0] ? strtoll(cells[0], NULL, 10) : 0;
    return 0;
}

static int64_t ask(struct store *s, const char *text, const char *value)
{
    struct error err;
    int64_t answer = -1;

    if (store_run_sql(s, &err, note, &answer, text, value ? "s" : "", value) < 0)
        die(text, &err);
    return answer;
}

/* Each promise of this letter is kept. How many there were. */
static int check_promises(struct store *s, const char *path, char letter)
{
    FILE *f = fopen(path, "r");
    char run[64], which;
    uint64_t sightings, sum;
    int kind, n = 0;

    while (f && fscanf(f, " %c %63s %d %" SCNu64 " %" SCNu64, &which, run, &kind, &sightings,
                       &sum) == 5) {
        if (which != letter)
            continue;
        n++;
        check(ask(s, "SELECT count(*) FROM runs WHERE id = $1 AND ended IS NOT NULL", run) == 1,
              run, 0, 1);
        check(ask(s, "SELECT count(*) FROM sightings WHERE run = $1", run) == (int64_t)sightings,
              "sightings of a run", ask(s, "SELECT count(*) FROM sightings WHERE run = $1", run),
              (int64_t)sightings);
        check(ask(s, "SELECT COALESCE(sum(count), 0) FROM sightings WHERE run = $1", run) ==
                  (int64_t)sum,
              "instances of a run", 0, (int64_t)sum);
    }
    if (f)
        fclose(f);
    return n;
}

/* A writer gets in at once. */
static void check_locks(void)
{
    struct error err = { { 0 } };
    int64_t start = now_us(), took;
    struct store *s = store_open(where, SQL_WRITE, 0, &err);

    if (!s || store_run_sql(s, &err, NULL, NULL, s->driver->begin, "") < 0 ||
        store_run_sql(s, &err, NULL, NULL, "UPDATE programs SET touched = touched", "") < 0 ||
        store_run_sql(s, &err, NULL, NULL, "COMMIT", "") < 0)
        die("a lock was left behind", &err);
    took = now_us() - start;
    check(took < 2000000, "microseconds to get in", took, 2000000);
    if (store_is_server(where))
        for (int i = 0; i < 50; i++) {
            if (ask(s,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'heddle'"
                    " AND pid <> pg_backend_pid()",
                    NULL) == 0)
                break;
            usleep(100000);
            check(i < 49, "connections left", 1, 0);
        }
    store_close(s);
}

static int copy_status(void *arg, const struct store_program *p)
{
    *(struct store_program *)arg = *p;
    return 0;
}

static void check_store(struct store *s)
{
    struct store_program p = { 0 };
    struct error err;
    int64_t chases =
        ask(s, "SELECT count(*) FROM runs WHERE kind = 'chase' AND ended IS NOT NULL", NULL);

    if (store_check(s, &err) < 0)
        die("integrity", &err);
    check(ask(s, "SELECT sum(chased) FROM pairs", NULL) == chases, "chased runs counted", 0,
          chases);
    usleep(LEASE_MS * 1000 + 100000); /* leases of the dead run out */
    if (store_programs(s, copy_status, &p, &err) < 0)
        die("status", &err);
    check(p.running == 0, "leases left", (int64_t)p.running, 0);
    printf("pairs: %" PRIu64 " static, %" PRIu64 " possible, %" PRIu64 " chased, %" PRIu64
           " confirmed; runs: %" PRIu64 " caper, %" PRIu64 " chase, %" PRIu64 " lost\n",
           p.pairs, p.possible, p.chased, p.confirmed, p.runs[FLEET_CAPER], p.runs[FLEET_CHASE],
           p.lost);
}

int main(int argc, char **argv)
{
    struct spool_counts counts;
    struct error err = { { 0 } };
    struct totals t;
    struct store *s;
    char *path;
    int64_t start = now_us();
    int stored, spooled;

    if (argc < 6)
        return 2;
    where = argv[1];
    spool = argv[2];
    srand(argc > 6 ? (unsigned)atoi(argv[6]) : 1);
    if (spool_make(spool, &err) < 0)
        die("spool", &err);
    path = xasprintf("%s/promises", spool);
    promises = open(path, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0666);
    t = run_all(atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    printf("%s runs, %d killed, %d failed, %.1f s\n", argv[3], t.killed, t.failed,
           (double)(now_us() - start) / 1e6);
    check(t.failed == 0, "runs that failed", t.failed, 0);
    check(t.killed * 100 >= atoi(argv[5]) * atoi(argv[3]) * 8 / 10, "runs killed", t.killed,
          atoi(argv[5]) * atoi(argv[3]) / 100);
    check_locks();
    s = store_open(where, SQL_WRITE, 0, &err);
    if (!s)
        die("open", &err);
    stored = check_promises(s, path, 'P');
    spool_flush(spool, s, &counts, &err);
    check(counts.failed + counts.bad == 0, "results that stay in the spool",
          (int64_t)(counts.failed + counts.bad), 0);
    spooled = check_promises(s, path, 'S');
    printf("promises: %d by the spool, %d by the store; %" PRIu64 " put later from the spool\n",
           spooled, stored, counts.put);
    check_store(s);
    store_close(s);
    free(path);
    puts(wrong ? "WRONG" : "all kept");
    return wrong;
}
