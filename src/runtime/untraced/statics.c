/* statics.c - data of images; variables and functions of traced modules (objects.h)
 *
 * Each traced image hands over its lists (abi.h) when it registers; they are sorted in place, by
 * heapsort, since libc's qsort() may call malloc. Writable data of images is noted when an image
 * is seen (image.c). A pointer into data that is no variable of the lists (untraced code linked
 * in, an untraced library) leads to the LOOSE_BYTES around it.
 *
 * Concurrency: changed under rt_start_lock, looked at by anybody: entries are complete before the
 * count says that they are there.
 */
#include "runtime/untraced/objects.h"

#include "runtime/untraced/effects_lookup.h"

#include <string.h>

enum { RANGES_MAX = 8192, LISTS_MAX = 4096 };

static struct range {
    uintptr_t low, high;
    struct list *list; /* variables of the image, NULL if it is not traced */
    bool code, system;
} ranges[RANGES_MAX];
static uint32_t nranges;

static struct list {
    uintptr_t *functions;
    struct heddle_variable *variables;
    size_t nfunctions, nvariables;
    uintptr_t low; /* where it is */
} lists[LISTS_MAX];
static uint32_t nlists;

/* Functions that need no barriers, asked inline by calls through pointers. */
EXPORT uint64_t __heddle_targets[TARGETS] __attribute__((aligned(64)));
EXPORT uint8_t __heddle_logged[LOGGED_BLOCKS] __attribute__((aligned(64)));

/* ---- sorting ---- */

static uint64_t key(const char *base, size_t size, size_t i)
{
    return *(const uint64_t *)(base + i * size);
}

static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        uint64_t w = *(uint64_t *)(a + i);

        *(uint64_t *)(a + i) = *(uint64_t *)(b + i);
        *(uint64_t *)(b + i) = w;
    }
}

static void sift(char *base, size_t size, size_t from, size_t n)
{
    for (size_t child; (child = 2 * from + 1) < n; from = child) {
        if (child + 1 < n && key(base, size, child) < key(base, size, child + 1))
            child++;
        if (key(base, size, from) >= key(base, size, child))
            return;
        swap(base + from * size, base + child * size, size);
    }
}

/* Elements of `size` bytes, by their first word. */
static void sort(void *array, size_t n, size_t size)
{
    char *base = array;

    for (size_t i = n / 2; i-- > 0;)
        sift(base, size, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(base, base + i * size, size);
        sift(base, size, 0, i);
    }
}

/* ---- registration ---- */

/* The first element that is not 0: padding, and the units' first entries. */
static size_t zeroes(const void *array, size_t n, size_t size)
{
    size_t i = 0;

    while (i < n && key(array, size, i) == 0)
        i++;
    return i;
}

/* One of an image that is gone, or a new one. */
static struct list *new_list(void)
{
    for (uint32_t i = 0; i < nlists; i++)
        if (!lists[i].low)
            return &lists[i];
    return nlists < LISTS_MAX ? &lists[nlists] : NULL;
}

struct other_targets statics_others;

/* A list that comes or goes changes what is known of addresses. */
static void forget_targets(void)
{
    memset(__heddle_targets, 0, sizeof(__heddle_targets));
    memset(&statics_others, 0, sizeof(statics_others));
}

EXPORT void __heddle_register_lists(void **functions, void **functions_stop,
                                    struct heddle_variable *variables,
                                    struct heddle_variable *variables_stop);
EXPORT void __heddle_register_lists(void **functions, void **functions_stop,
                                    struct heddle_variable *variables,
                                    struct heddle_variable *variables_stop)
{
    size_t nf = (size_t)(functions_stop - functions), skip;
    size_t nv = (size_t)(variables_stop - variables);
    struct list *l;

    rt_constructor();
    if (rt.mode == MODE_OFF)
        return;
    rt_busy_begin();
    spin_lock(&rt_start_lock);
    l = new_list();
    if (l) {
        sort(functions, nf, sizeof(*functions));
        sort(variables, nv, sizeof(*variables));
        skip = zeroes(functions, nf, sizeof(*functions));
        l->functions = (uintptr_t *)functions + skip;
        l->nfunctions = nf - skip;
        skip = zeroes(variables, nv, sizeof(*variables));
        l->variables = variables + skip;
        l->nvariables = nv - skip;
        l->low = (uintptr_t)functions;
        for (uint32_t i = 0; i < nranges; i++)
            if (!ranges[i].code && l->low - ranges[i].low < ranges[i].high - ranges[i].low)
                ranges[i].list = l;
        forget_targets();
        if (l == &lists[nlists])
            __atomic_store_n(&nlists, nlists + 1, __ATOMIC_RELEASE);
    }
    spin_unlock(&rt_start_lock);
    rt_busy_end();
}

static void add_range(uintptr_t low, uintptr_t high, bool code, bool system)
{
    struct range *r = NULL;

    for (uint32_t i = 0; i < nranges; i++) {
        if (ranges[i].low == low && ranges[i].high == high && ranges[i].code == code)
            return;
        if (!ranges[i].high && !r)
            r = &ranges[i];
    }
    if (!r && nranges < RANGES_MAX)
        r = &ranges[nranges];
    if (!r)
        return;
    *r = (struct range){ .low = low, .high = high, .code = code, .system = system };
    for (uint32_t i = 0; i < nlists; i++)
        if (lists[i].low - low < high - low)
            r->list = &lists[i];
    if (r == &ranges[nranges])
        __atomic_store_n(&nranges, nranges + 1, __ATOMIC_RELEASE);
}

void statics_add_range(uintptr_t low, uintptr_t high, bool system)
{
    add_range(low, high, false, system);
}

void statics_add_code(uintptr_t low, uintptr_t high, bool system)
{
    add_range(low, high, true, system);
}

void statics_remove(uintptr_t low, uintptr_t high)
{
    for (uint32_t i = 0; i < nranges; i++)
        if (ranges[i].high && ranges[i].low >= low && ranges[i].high <= high)
            ranges[i] = (struct range){ .low = 0 };
    for (uint32_t i = 0; i < nlists; i++)
        if (lists[i].low >= low && lists[i].low < high)
            lists[i].nfunctions = lists[i].nvariables = lists[i].low = 0;
    forget_targets();
}

/* ---- finding ---- */

/* The last element whose first word is not above `a`; n if none. */
static size_t last_below(const void *array, size_t n, size_t size, uintptr_t a)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (key(array, size, middle) <= a)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : n;
}

static const struct range *range_of(uintptr_t a, bool code)
{
    uint32_t n = __atomic_load_n(&nranges, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++)
        if (a - ranges[i].low < ranges[i].high - ranges[i].low && ranges[i].code == code)
            return &ranges[i];
    return NULL;
}

/* The piece, or the bytes around, but not those of the variables before and behind. */
static void loose(uintptr_t a, const struct range *r, uintptr_t low, uintptr_t high,
                  struct object *o)
{
    uintptr_t first = a & ~(uintptr_t)(LOOSE_BYTES - 1), end = first + LOOSE_BYTES;

    effects_find(a, &first, &end);
    low = low > r->low ? low : r->low;
    high = high && high < r->high ? high : r->high;
    *o = (struct object){ .kind = OBJECT_LOOSE };
    o->low = first > low ? first : low;
    o->high = end < high ? end : high;
}

bool statics_find(uintptr_t a, struct object *o)
{
    const struct range *r = range_of(a, false);
    const struct list *l = r ? r->list : NULL;
    struct heddle_variable *v;
    uint64_t bytes;
    size_t i;

    if (!r || r->system)
        return false;
    if (!l || !l->nvariables) {
        loose(a, r, 0, 0, o);
        return true;
    }
    i = last_below(l->variables, l->nvariables, sizeof(*v), a);
    if (i == l->nvariables) {
        loose(a, r, 0, l->variables[0].address, o);
        return true;
    }
    v = &l->variables[i];
    bytes = v->extent & ~EXTENT_PLAIN;
    if (a - v->address >= bytes) {
        loose(a, r, v->address + bytes, i + 1 < l->nvariables ? v[1].address : 0, o);
        return true;
    }
    *o = (struct object){ OBJECT_VARIABLE,
                          v->address,
                          v->address + bytes,
                          (uint8_t *)&v->state,
                          v->extent & EXTENT_PLAIN,
                          false,
                          0 };
    return true;
}

static bool is_listed(uintptr_t f)
{
    for (uint32_t i = 0; i < nlists; i++) {
        size_t at = last_below(lists[i].functions, lists[i].nfunctions, sizeof(uintptr_t), f);

        if (at < lists[i].nfunctions && lists[i].functions[at] == f)
            return true;
    }
    return false;
}

/* In a program that is not position independent a function's address may be that of its entry in
 * the procedure linkage table: a jump through a word, which holds the function once it is bound. */
static uintptr_t behind_plt(uintptr_t f)
{
    const uint8_t *code = (const uint8_t *)f;
    int32_t offset;

    if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa) /* endbr64 */
        code += 4;
    if (code[0] == 0xf2) /* bnd */
        code++;
    if (code[0] != 0xff || code[1] != 0x25)
        return f;
    memcpy(&offset, code + 2, sizeof(offset));
    return *(const uintptr_t *)(code + 6 + offset);
}

bool statics_is_code(uintptr_t a)
{
    return range_of(a, true);
}

uintptr_t statics_behind_plt(uintptr_t f)
{
    const struct range *r = range_of(f, true);

    return r && r->high - f > 16 ? behind_plt(f) : f;
}

bool statics_is_plt(uintptr_t f)
{
    const struct range *r = range_of(f, true);

    return r && r->high - f > 16 && behind_plt(f) != f;
}

extern HIDDEN const char __start_heddle_text[], __stop_heddle_text[];

/* Traced, of the system, or the runtime's own: it takes the place of one of the system's. */
static bool is_known_in_statics(uintptr_t f, const struct range *r)
{
    return is_listed(f) || (r && r->system) ||
           f - (uintptr_t)__start_heddle_text <
               (uintptr_t)(__stop_heddle_text - __start_heddle_text);
}

bool statics_is_known(uintptr_t f)
{
    const struct range *r = range_of(f, true);
    uintptr_t real;

    if (is_known_in_statics(f, r))
        return true;
    real = r && r->high - f > 16 ? behind_plt(f) : f;
    return real != f && is_known_in_statics(real, range_of(real, true));
}

bool statics_is_listed(uintptr_t f)
{
    return is_listed(f) || is_listed(statics_behind_plt(f));
}

/* Not of a module that was built without calls: it lists no functions. */
bool statics_is_untraced(uintptr_t f)
{
    const struct range *r = range_of(f, true);

    return !statics_is_known(f) && !(r && r->list && !r->list->nfunctions);
}

bool statics_is_traced(uintptr_t code)
{
    const struct range *r = range_of(code, true);

    for (uint32_t i = 0; r && i < nlists; i++) {
        size_t at = last_below(lists[i].functions, lists[i].nfunctions, sizeof(uintptr_t), code);

        if (at < lists[i].nfunctions && lists[i].functions[at] >= r->low)
            return true;
    }
    return false;
}

uintptr_t statics_named(const char *name)
{
    for (uint32_t i = 0; i < nlists; i++)
        for (size_t k = 0; k < lists[i].nvariables; k++)
            if (!strcmp(lists[i].variables[k].name, name))
                return lists[i].variables[k].address;
    return 0;
}

/* In a forked child: its trace knows of nothing. */
void statics_forget(void)
{
    for (uint32_t i = 0; i < nlists; i++)
        for (size_t k = 0; k < lists[i].nvariables; k++)
            lists[i].variables[k].state = STATE_FRESH;
    memset(__heddle_logged, 0, sizeof(__heddle_logged));
}
