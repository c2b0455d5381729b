/* steer.c - who and what is meant by a plan: threads, events, memory, the race's accesses (steer.h)
 *
 * Threads are known by how they were created, events by counting: nothing here depends on an
 * address or on the order in which threads happen to run. Where the new run creates its threads in
 * another order, or does more or less before it comes to the race, the plan does not fit, threads
 * wait in vain, and the note says at which gate.
 *
 * Limits: the first THREADS_MOST threads have paths; numbers of sites beyond SITES_MOST are not
 * known. Only one wait at a time: a thread.
 */
#include "runtime/steer/steer.h"
#include "runtime/steer/explore_steps.h"
#include "runtime/untraced/objects.h"
#include "runtime/production/prod.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MOST = 1 << 20, SLOTS = 1 << 13, WATCHED = 1 << 16, WATCH_BYTES = 1 << 16 };
_Static_assert(SLOTS >= 4 * STEER_KEYS_MAX, "look-ups are short");

bool steer_on;
struct steer_plan *steer_plan;
_Thread_local bool steer_updates;

/* By the thread's number. */
static struct path {
    uint64_t path;
    uint32_t children;
} *paths;
static uint32_t passed[STEER_KEYS_MAX];
static uint32_t key_site[STEER_KEYS_MAX]; /* + 1; 0: none, or its module is not there */
static uint16_t slots[SLOTS];             /* number of a key + 1, by hash */
static uint32_t first_gate[STEER_KEYS_MAX + 1];
static uint32_t side_site[2]; /* + 1 */
static uint64_t watched[WATCHED / 64];
static uintptr_t target_low, target_high;
static _Thread_local int counted __attribute__((tls_model("initial-exec"))); /* key, or -1 */

/* ---- the plan ---- */

static void *map(size_t bytes, int flags, long fd)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0L);

    return m == MAP_FAILED ? NULL : m;
}

static bool map_plan(const char *path)
{
    struct stat s = { 0 };
    struct prod_control *c = NULL;
    long fd = syscall(SYS_open, path, O_RDWR | O_CLOEXEC);

    if (fd >= 0 && !fstat((int)fd, &s) && s.st_size >= (off_t)(sizeof(*c) + sizeof(*steer_plan)))
        c = map((size_t)s.st_size, MAP_SHARED, fd);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (!c || memcmp(c->magic, PROD_MAGIC, 8) || c->version != PROD_VERSION)
        return false;
    rt_control = c;
    steer_plan = (struct steer_plan *)(c + 1);
    return steer_plan->version == STEER_VERSION && steer_plan->nkeys <= STEER_KEYS_MAX &&
           steer_plan->ngates <= STEER_GATES_MAX;
}

static uint32_t slot_of(uint64_t path, uint32_t op, uint32_t site)
{
    uint64_t h = (path ^ (uint64_t)op << 32 ^ site) * UINT64_C(0xff51afd7ed558ccd);

    return (uint32_t)(h >> 40) % SLOTS;
}

static void add_key(uint32_t k)
{
    const struct steer_key *key = &steer_plan->key[k];
    uint32_t i = slot_of(key->thread, key->op, key_site[k]);

    while (slots[i])
        i = (i + 1) % SLOTS;
    __atomic_store_n(&slots[i], (uint16_t)(k + 1), __ATOMIC_RELEASE);
}

static int find_key(uint64_t path, uint32_t op, uint32_t site)
{
    for (uint32_t i = slot_of(path, op, site), k;; i = (i + 1) % SLOTS) {
        k = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE);
        if (!k)
            return -1;
        if (steer_plan->key[k - 1].thread == path && steer_plan->key[k - 1].op == op &&
            key_site[k - 1] == site)
            return (int)k - 1;
    }
}

static bool has_module(const uint64_t module[2])
{
    return module[0] | module[1];
}

static void index_gates(void)
{
    uint32_t g = 0;

    for (uint32_t k = 0; k <= steer_plan->nkeys; k++) {
        while (g < steer_plan->ngates && steer_plan->gate[g].key < k)
            g++;
        first_gate[k] = g;
    }
}

static bool is_for_us(void)
{
    return steer_plan && paths && !(steer_plan->flags & STEER_FORKED) == !rt.forked &&
           !__atomic_load_n(&steer_plan->done.met, __ATOMIC_ACQUIRE);
}

static void begin(void)
{
    paths[0].path = STEER_ROOT;
    steer_on = is_for_us();
    if (steer_on)
        __atomic_fetch_add(&steer_plan->done.taken_up, 1, __ATOMIC_RELAXED);
}

void steer_start(const char *path)
{
    if (!map_plan(path)) {
        rt_say("cannot use the plan '%s': the run is not controlled", path);
        steer_plan = NULL;
        return;
    }
    paths = map(sizeof(*paths) * THREADS_MOST, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    for (uint32_t k = 0; k < steer_plan->nkeys; k++)
        if (!has_module(steer_plan->key[k].module))
            add_key(k);
    index_gates();
    if (paths)
        begin();
}

static uint32_t site_in(const struct heddle_module *m, const uint64_t module[2], uint32_t index)
{
    return module[0] == m->id[0] && module[1] == m->id[1] && index < m->sites ? m->base + index + 1
                                                                              : 0;
}

void steer_module(const struct heddle_module *m)
{
    explore_module(m);
    if (!steer_plan)
        return;
    for (uint32_t k = 0; k < steer_plan->nkeys; k++) {
        const struct steer_key *key = &steer_plan->key[k];

        if (has_module(key->module) && !key_site[k] &&
            (key_site[k] = site_in(m, key->module, key->index)))
            add_key(k);
    }
    for (unsigned s = 0; s < 2; s++)
        if (has_module(steer_plan->side[s].module) && !side_site[s])
            side_site[s] = site_in(m, steer_plan->side[s].module, steer_plan->side[s].index);
}

/* Counts anew: it is another process, with one thread. */
void steer_forked(void)
{
    explore_forked();
    if (!steer_plan || !paths)
        return;
    memset(passed, 0, sizeof(passed));
    memset(watched, 0, sizeof(watched));
    for (uint32_t n = 0; n < THREADS_MOST && (paths[n].path || n < 64); n++)
        paths[n] = (struct path){ 0 };
    if (steer_plan->target.kind != STEER_IN_IMAGE)
        target_low = target_high = 0;
    steer_wait_forked();
    begin();
}

/* ---- threads ---- */

static uint64_t own_path(void)
{
    const struct rt_thread *t = tls.self;

    return t && t->number < THREADS_MOST ? paths[t->number].path : 0;
}

void steer_thread(uint32_t creator, uint32_t child)
{
    if (unlikely(explore_on))
        explore_thread(creator, child, WHERE_PC);
    if (!paths || creator >= THREADS_MOST || child >= THREADS_MOST)
        return;
    paths[creator].children++;
    paths[child].path = steer_child(paths[creator].path, paths[creator].children);
    paths[child].children = 0;
}

/* ---- events ---- */

static bool is_atomic(unsigned op)
{
    return op == OP_LOAD || op == OP_STORE || op == OP_RMW;
}

static int own_key(unsigned op, uint64_t where)
{
    if (!is_atomic(op))
        return find_key(own_path(), op, 0);
    return where & WHERE_PC ? -1 : find_key(own_path(), OP_LOAD, (uint32_t)where + 1);
}

void steer_count_slow(unsigned op, uint64_t where)
{
    if (explore_on)
        return;
    if (unlikely(steer_met)) {
        steer_order_passes();
        return;
    }
    counted = own_key(op, where);
    if (counted < 0)
        return;
    __atomic_fetch_add(&passed[counted], 1, __ATOMIC_SEQ_CST);
    steer_wake();
}

static bool is_passed(uint32_t key, uint32_t number)
{
    return __atomic_load_n(&passed[key], __ATOMIC_SEQ_CST) >= number;
}

bool steer_gate_is_open(uint32_t gate)
{
    return is_passed(steer_plan->gate[gate].after, steer_plan->gate[gate].after_number);
}

void steer_before_slow(unsigned op, uint64_t where)
{
    int k, saved = errno;
    uint32_t number;

    if (unlikely(steer_met)) {
        steer_order_again();
        return;
    }
    k = tls.busy || explore_on ? -1 : own_key(op, where);
    if (k < 0)
        return;
    number = passed[k] + 1; /* counted by this thread alone */
    for (uint32_t g = first_gate[k]; g < first_gate[k + 1]; g++)
        if (steer_plan->gate[g].number == number)
            steer_gate_wait(g);
    errno = saved;
}

/* ---- memory ---- */

static uintptr_t last_block(uintptr_t a, uint64_t bytes)
{
    bytes = bytes < 1 ? 1 : bytes > WATCH_BYTES ? WATCH_BYTES : bytes;
    return (a + bytes - 1) >> FILTER_BLOCK_SHIFT;
}

/* What is larger is not in the filter for long anyway. */
static void watch(uintptr_t a, uint64_t bytes)
{
    uintptr_t last = last_block(a, bytes);

    for (uintptr_t b = a >> FILTER_BLOCK_SHIFT; b <= last; b++)
        __atomic_fetch_or(&watched[b % WATCHED / 64], UINT64_C(1) << (b % 64), __ATOMIC_RELAXED);
}

bool steer_watches_slow(uintptr_t a, uint64_t bytes)
{
    uintptr_t last = last_block(a, bytes);

    for (uintptr_t b = a >> FILTER_BLOCK_SHIFT; b <= last; b++)
        if (__atomic_load_n(&watched[b % WATCHED / 64], __ATOMIC_RELAXED) >> (b % 64) & 1)
            return true;
    return false;
}

static void set_target(uintptr_t low)
{
    target_high = low + steer_plan->target.bytes;
    __atomic_store_n(&target_low, low, __ATOMIC_RELEASE);
    steer_plan->done.target_known = 1;
    watch(low, steer_plan->target.bytes);
}

void steer_allocated(uintptr_t a, uint64_t bytes)
{
    const struct steer_target *t;

    if (explore_on || !steer_searches() || counted < 0)
        return;
    t = &steer_plan->target;
    if (t->kind < STEER_IN_BLOCK || t->key != (uint32_t)counted || t->number != passed[counted])
        return;
    set_target(t->kind == STEER_IN_BLOCK ? a + t->offset : a + bytes - t->offset);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The program itself has no name there. */
static int look_at_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct steer_target *t = arg;
    const char *name = info->dlpi_name ? info->dlpi_name : "";

    (void)size;
    if (*t->image ? strcmp(base_name(name), t->image) : *name)
        return 0;
    set_target(info->dlpi_addr + t->offset);
    return 1;
}

static bool find_target(void)
{
    static uint32_t tries;

    if (steer_plan->target.kind != STEER_IN_IMAGE ||
        __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) > 1000)
        return false;
    rt_busy_begin();
    dl_iterate_phdr(look_at_image, &steer_plan->target);
    rt_busy_end();
    return target_low;
}

/* ---- the race's accesses ---- */

static bool is_at_target(const struct steer_access *a)
{
    if (steer_plan->target.kind == STEER_ANYWHERE)
        return true;
    if (!__atomic_load_n(&target_low, __ATOMIC_ACQUIRE) && !find_target())
        return false;
    return a->address < target_high && target_low < a->address + a->bytes;
}

static bool is_write(unsigned op)
{
    return op == OP_WRITE || op == OP_FREE || op == OP_STORE || op == OP_RMW;
}

/* Where it stands in the program. A site is an access; of code without a site table, or what a
 * function of the C library does, any place counts that does the same to the same memory. */
static bool is_place(const struct steer_access *a, unsigned s)
{
    const struct steer_side *side = &steer_plan->side[s];

    if (has_module(side->module))
        return side_site[s] && a->where == side_site[s] - 1;
    return a->where & WHERE_PC && steer_plan->target.kind != STEER_ANYWHERE &&
           is_write(a->op) == is_write(side->op);
}

static bool is_armed(unsigned s)
{
    const struct steer_side *side = &steer_plan->side[s];

    return (!side->thread || side->thread == own_path()) &&
           (side->anchor == STEER_NONE || is_passed(side->anchor, side->anchor_number));
}

/* What free() is given is as large as the block. */
static uint64_t block_bytes(uintptr_t a)
{
    struct object o;

    return objects_on && objects_find(a, &o) && o.low == a ? o.high - a : 1;
}

void steer_access_slow(struct steer_access a)
{
    unsigned sides = 0, saved = (unsigned)errno;

    if (explore_on) {
        explore_access(&a);
        return;
    }
    a.update |= steer_updates;
    if (unlikely(steer_met)) {
        if (!a.update || a.op != OP_WRITE) /* its read is told of, and made, with it */
            steer_order_again();
        return;
    }
    if (tls.busy || tls.ignore || !tls.self)
        return;
    if (a.op == OP_FREE && !a.bytes)
        a.bytes = block_bytes(a.address);
    for (unsigned s = 0; s < 2; s++)
        sides |= (unsigned)is_place(&a, s) << s;
    if (!sides)
        return;
    watch(a.address, a.op == OP_FREE ? 1 : a.bytes);
    for (unsigned s = 0; s < 2; s++)
        if (!is_armed(s))
            sides &= ~(1u << s);
    if (sides && is_at_target(&a))
        steer_stand(&a, sides);
    errno = (int)saved;
}
