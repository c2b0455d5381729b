/* static_link.c - all modules of the program as one: what each symbol means
 *
 * As the linkers do it. A name that is internal to a module is its own; a hidden one belongs to
 * its image; any other is one entity for the whole program. Within an image a strong definition
 * beats weak ones. Where only weak copies exist (C++ inline functions), which one the linker kept
 * is not known here: all are taken. A function that several images define is called in all of
 * them (who interposes whom depends on flags of the linker).
 */
#include "base/alloc.h"
#include "base/module.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

static uint32_t entity_new(struct statics *s, const char *name, bool is_function)
{
    GROW(s->entities, s->entities_cap, s->nentities + 1);
    s->entities[s->nentities] =
        (struct entity){ .name = name, .is_function = is_function, .image = UINT32_MAX };
    return (uint32_t)s->nentities++;
}

/* Entities of names have the number of the name. `image` UINT32_MAX: of all images. */
static uint32_t entity_named(struct statics *s, const char *name, uint32_t image, bool is_function,
                             bool add)
{
    char *key = image == UINT32_MAX ? NULL : xasprintf("%s@@%u", name, image);
    const char *text = key ? key : name;
    uint32_t n = intern_find(&s->names, text, strlen(text));

    if (n == INTERN_NONE && add) {
        n = intern_put(&s->names, text, strlen(text));
        GROW(s->entities, s->entities_cap, n + (size_t)1);
        s->nentities = n + (size_t)1;
        s->entities[n] = (struct entity){ .name = intern_get(&s->names, n),
                                          .is_function = is_function,
                                          .image = UINT32_MAX };
    }
    free(key);
    return n;
}

/* First all names, so that their numbers are dense; internal symbols come behind them. */
static void name_symbols(struct statics *s, struct sfile_module *m)
{
    m->entities = xcalloc(m->facts->nsymbols + (size_t)1, sizeof(*m->entities));
    for (uint32_t i = 0; i < m->facts->nsymbols; i++) {
        const struct fact_symbol *y = &m->facts->symbols[i];
        bool function = y->kind == SYMBOL_FUNCTION;

        if (y->internal)
            continue;
        entity_named(s, y->name, UINT32_MAX, function, true);
        if (y->hidden && y->defined)
            entity_named(s, y->name, m->image, function, true);
    }
}

static void resolve_symbols(struct statics *s, struct sfile_module *m)
{
    for (uint32_t i = 0; i < m->facts->nsymbols; i++) {
        const struct fact_symbol *y = &m->facts->symbols[i];
        bool function = y->kind == SYMBOL_FUNCTION;
        uint32_t n = INTERN_NONE;

        if (y->internal) {
            m->entities[i] = entity_new(s, y->name, function);
            continue;
        }
        n = entity_named(s, y->name, m->image, function, false);
        if (n == INTERN_NONE)
            n = entity_named(s, y->name, UINT32_MAX, function, false);
        m->entities[i] = n;
    }
}

/* ---- functions ---- */

static void add_copy(struct entity *e, uint32_t function)
{
    e->functions = xrealloc(e->functions, e->nfunctions + (size_t)1, sizeof(*e->functions));
    e->functions[e->nfunctions++] = function;
}

static void define_function(struct statics *s, struct sfile_module *m, uint32_t n,
                            const struct fact_symbol *y)
{
    struct entity *e = &s->entities[m->entities[n]];
    uint32_t f = m->first_function + y->function;

    if (y->weak && e->image == m->image && e->strong)
        return;
    if (!y->weak && e->image == m->image && !e->strong) /* beats the weak ones of this image */
        while (e->nfunctions &&
               s->modules[s->functions[e->functions[e->nfunctions - 1]].module].image == m->image)
            e->nfunctions--;
    e->strong = !y->weak;
    e->image = m->image;
    e->is_defined = true;
    e->is_function = true;
    s->functions[f].entity = m->entities[n];
    add_copy(e, f);
}

static void number_functions(struct statics *s, struct sfile_module *m, uint32_t number)
{
    m->first_function = (uint32_t)s->nfunctions;
    for (uint32_t i = 0; i < m->facts->nfunctions; i++) {
        const struct fact_function *code = &m->facts->functions[i];

        GROW(s->functions, s->functions_cap, s->nfunctions + 1);
        s->functions[s->nfunctions++] =
            (struct sfunction){ .module = number, .code = code, .entity = UINT32_MAX };
        if (code->index >= m->nindices) {
            m->function_at =
                xrealloc(m->function_at, code->index + (size_t)1, sizeof(*m->function_at));
            while (m->nindices <= code->index)
                m->function_at[m->nindices++] = 0;
        }
        m->function_at[code->index] = (uint32_t)s->nfunctions;
        s->counters.facts += code->nfacts;
    }
}

static void define_alias(struct statics *s, const struct sfile_module *m, uint32_t n,
                         const struct fact_symbol *y)
{
    struct entity *e = &s->entities[m->entities[n]];

    if (e->alias || e->nfunctions)
        return;
    e->alias = m->entities[y->pointers[0].symbol] + 1;
    e->alias_offset = y->pointers[0].offset;
    e->ifunc = y->kind == SYMBOL_IFUNC;
}

static void define_symbols(struct statics *s, struct sfile_module *m)
{
    for (uint32_t i = 0; i < m->facts->nsymbols; i++) {
        const struct fact_symbol *y = &m->facts->symbols[i];

        if (y->kind == SYMBOL_FUNCTION && y->function != FACT_NONE)
            define_function(s, m, i, y);
        else if (y->defined)
            s->entities[m->entities[i]].is_defined = true;
        if ((y->kind == SYMBOL_ALIAS || y->kind == SYMBOL_IFUNC) && y->npointers)
            define_alias(s, m, i, y);
    }
}

/* ---- loading ---- */

static int load_module(struct statics *s, const struct sites_header *h, uint32_t image,
                       struct error *err)
{
    size_t n;
    const void *bytes = sites_bitcode(h, &n);
    struct facts *facts = bytes ? s->api->read(bytes, n, err) : NULL;

    if (!bytes)
        return error_set(err, "'%s': no bitcode", sites_string(h, h->source));
    if (!facts)
        return error_prefix(err, "'%s'", sites_string(h, h->source));
    GROW(s->modules, s->modules_cap, s->nmodules + 1);
    s->modules[s->nmodules++] = (struct sfile_module){ .sites = h, .facts = facts, .image = image };
    return 0;
}

/* One object file linked twice, or into two images, is one module: its sites have one name. */
static bool is_again(const struct statics *s, const struct sites_header *h)
{
    for (size_t i = s->nmodules; i > 0; i--)
        if (memcmp(s->modules[i - 1].sites->id, h->id, sizeof(h->id)) == 0)
            return true;
    return false;
}

int statics_load(struct statics *s, struct error *err)
{
    s->api = module_symbol("bitcode", "heddle_facts", err);
    if (!s->api)
        return -1;
    for (size_t i = 0; i < s->linked->count; i++)
        for (size_t k = 0; k < site_tables_count(s->linked->files[i].tables); k++) {
            const struct sites_header *h = site_tables_get(s->linked->files[i].tables, k);

            if (!is_again(s, h) && load_module(s, h, (uint32_t)i, err) < 0)
                return error_prefix(err, "'%s'", s->linked->files[i].path);
        }
    if (!s->nmodules)
        return error_set(err, "'%s' has no site tables: it was not built with heddle-cc",
                         s->linked->files[0].path);
    for (size_t i = 0; i < s->nmodules; i++)
        name_symbols(s, &s->modules[i]);
    for (size_t i = 0; i < s->nmodules; i++)
        resolve_symbols(s, &s->modules[i]);
    for (size_t i = 0; i < s->nmodules; i++)
        number_functions(s, &s->modules[i], (uint32_t)i);
    for (size_t i = 0; i < s->nmodules; i++)
        define_symbols(s, &s->modules[i]);
    s->counters.modules = s->nmodules;
    s->counters.functions = s->nfunctions;
    return 0;
}

/* Hidden where the program is compiled with -fvisibility=hidden. */
uint32_t statics_main(const struct statics *s)
{
    uint32_t plain = intern_find(&s->names, "main", 4);
    uint32_t hidden = intern_find(&s->names, "main@@0", 7);

    if (hidden != INTERN_NONE && s->entities[hidden].nfunctions)
        return hidden;
    return plain != INTERN_NONE && s->entities[plain].nfunctions ? plain : UINT32_MAX;
}

void statics_unload(struct statics *s)
{
    for (size_t i = 0; i < s->nmodules; i++) {
        s->api->free(s->modules[i].facts);
        free(s->modules[i].entities);
        free(s->modules[i].function_at);
    }
    for (size_t i = 0; i < s->nentities; i++)
        free(s->entities[i].functions);
    free(s->modules);
    free(s->entities);
    free(s->functions);
    intern_release(&s->names);
}
