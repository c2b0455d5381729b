/* fleet_chase.c - a run that chases one pair for the store
 *
 * What the control file shows goes to the store as soon as it is seen, while the program runs, and
 * all of it at the end. The file is named in the spool (RUN.live), so that what it holds is not
 * lost when this process is killed: a later run puts it, once no process has it mapped any more.
 */
#include "base/alloc.h"
#include "cmd/production/fleet_beside.h"
#include "cmd/production/production_findings.h"
#include "cmd/site_name.h"
#include "fleet/spool.h"
#include "report/json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sightings ---- */

/* The same each time that the result is made: findings may come in another order. */
static uint32_t number_of(const struct finding *f)
{
    uint32_t h = 2166136261u;
    const char *texts[] = { f->id, f->sides[0].location, f->sides[1].location };

    for (int i = 0; i < 3; i++)
        for (const char *p = texts[i] ? texts[i] : ""; *p; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
    return h & 0x7fffffff;
}

static json_t *races_of(const struct findings *f)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    json_t *doc, *races;

    if (!out)
        return NULL;
    json_write(f, out);
    fclose(out);
    doc = json_loadb(text, bytes, 0, NULL);
    races = json_incref(json_object_get(doc, "races"));
    json_decref(doc);
    free(text);
    return races;
}

static void add_sightings(struct fleet_result *r, const struct prod_control *c,
                          const struct linked *l)
{
    struct findings f = { 0 };
    struct sighting_report about = { .program = r->path,
                                     .engine = "chase",
                                     .strength = STRENGTH_CONFIRMED,
                                     .complete = true,
                                     .files = l };
    json_t *races;

    production_findings(&f, c, &about);
    races = races_of(&f);
    r->nsightings = 0;
    for (size_t i = 0; i < f.count && i < json_array_size(races); i++) {
        char *race = json_dumps(json_array_get(races, i), JSON_COMPACT);

        fleet_add_sighting(r, (struct fleet_sighting){ .number = number_of(&f.races[i]),
                                                       .s1 = r->s1,
                                                       .s2 = r->s2,
                                                       .count = f.races[i].count,
                                                       .seen_ms = fleet_now_ms(),
                                                       .id = f.races[i].id,
                                                       .race = race });
        free(race);
    }
    r->dropped = c->sightings_lost;
    json_decref(races);
    findings_release(&f);
}

/* Instances of all sightings that are complete. */
static uint64_t seen_so_far(const struct prod_control *c)
{
    uint64_t n = 0;

    for (int i = 0; i < PROD_SIGHTINGS_MAX; i++)
        n += __atomic_load_n(&c->sighting[i].ready, __ATOMIC_ACQUIRE) != 0;
    return n;
}

/* ---- while it runs ---- */

struct watch {
    struct fleet_job *job;
    const struct prod_control *control;
    uint64_t told; /* sightings that are on their way */
};

/* What is seen goes to the store early, by way of the spool: a long run is heard of before its
 * end. */
static void fleet_chase_tick(void *arg)
{
    struct watch *w = arg;
    struct fleet_job *j = w->job;
    uint64_t seen = seen_so_far(w->control);
    struct error err;

    if (seen <= w->told)
        return;
    w->told = seen;
    add_sightings(&j->result, w->control, &j->linked);
    if (spool_keep_seen(j->place.spool, &j->result, &err) == 0)
        fleet_beside_poke(j);
}

/* ---- the run ---- */

static int set_side(const struct linked *l, const char *name, struct prod_control *c, int side,
                    struct error *err)
{
    struct site_list list = { 0 };
    int r = site_name_parse(l, name, &list, err);

    if (r == 0 && list.count > PROD_SITES_MAX)
        list.count = PROD_SITES_MAX;
    if (r == 0) {
        c->nsites[side] = (uint32_t)list.count;
        memcpy(c->site[side], list.at, list.count * sizeof(*list.at));
    }
    site_list_release(&list);
    return r;
}

/* Accesses that are further apart in time need longer waits, of which there are fewer: the tries of
 * a pair go through the delays, each in both orders (store_claim.c turns the pair each time). */
static uint64_t delay_of(const struct fleet_job *j)
{
    return j->delay_ns[j->tries / 2 % j->ndelays];
}

static int fill_control(const struct fleet_job *j, struct prod_control *c)
{
    struct error err;

    if (set_side(&j->linked, j->result.s1, c, 0, &err) < 0 ||
        set_side(&j->linked, j->result.s2, c, 1, &err) < 0) {
        fleet_say(j, "%s", err.text);
        return -1;
    }
    c->delay_ns = delay_of(j);
    c->least_ns = j->least_ns;
    c->max_ppm = j->max_ppm;
    return 0;
}

static bool fleet_chase_run(struct fleet_job *j, struct production *p, int *code)
{
    struct watch w = { .job = j, .control = p->control };
    struct error err = { { 0 } };

    j->result.note = p->path;
    j->live = spool_begin(j->place.spool, &j->result, &err);
    j->result.note = NULL;
    if (j->live < 0)
        fleet_say(j, "%s", err.text);
    *code = production_run(p, j->argv, fleet_chase_tick, &w);
    if (*code == 0)
        *code = p->code;
    add_sightings(&j->result, p->control, &j->linked);
    if (p->control->patch_errno)
        j->result.note = fleet_string(&j->result, strerror(p->control->patch_errno));
    else if (!p->control->taken_up)
        j->result.note = "the program did not take up the pair";
    return true;
}

bool fleet_chase(struct fleet_job *j, int *code)
{
    struct production p;

    fleet_say(j, "chase %s, %s, waits of %g ms", j->result.s1, j->result.s2,
              (double)delay_of(j) / 1e6);
    if (production_open(&p, PROD_CHASE, 0) != 0)
        return false;
    if (fill_control(j, p.control) < 0) {
        production_close(&p);
        return false;
    }
    fleet_chase_run(j, &p, code);
    production_close(&p);
    return true;
}

/* ---- runs whose heddle was killed ---- */

/* Of another build there are no names to be had; then the stacks have addresses only. */
static void read_orphan(struct fleet_result *r, const struct prod_control *c)
{
    char id[FLEET_ID_CHARS + 1];
    struct linked l = { 0 };
    struct error err;

    if (r->path && linked_open(&l, r->path, true, &err) == 0) {
        fleet_build_id(&l, id);
        if (strcmp(id, r->program) != 0) {
            linked_release(&l);
            l = (struct linked){ 0 };
        }
    }
    add_sightings(r, c, &l);
    linked_release(&l);
}

static bool adopt(void *arg, struct fleet_result *r)
{
    struct fleet_job *j = arg;
    const char *path = r->note;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    struct prod_control *c = MAP_FAILED;
    struct error err;
    struct stat st;
    bool done = false;

    if (fd < 0)
        return path == NULL || errno == ENOENT;
    if (production_is_mapped(path)) {
        close(fd);
        return false;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size >= sizeof(*c))
        c = mmap(NULL, sizeof(*c), PROT_READ, MAP_PRIVATE, fd, 0);
    if (c != MAP_FAILED && memcmp(c->magic, PROD_MAGIC, sizeof(c->magic)) == 0 &&
        c->version == PROD_VERSION) {
        read_orphan(r, c);
        r->note = "its heddle was killed";
        r->ended_ms = fleet_now_ms();
        done = spool_keep(j->place.spool, r, &err) == 0;
    }
    if (c != MAP_FAILED)
        munmap(c, sizeof(*c));
    close(fd);
    if (done)
        unlink(path);
    return done;
}

void fleet_adopt_orphans(struct fleet_job *j)
{
    spool_orphans(j->place.spool, adopt, j);
}
