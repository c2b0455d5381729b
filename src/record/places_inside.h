/* places_inside.h - inside of places.h: what places.c and places_log.c share */
#ifndef HEDDLE_RECORD_PLACES_INSIDE_H
#define HEDDLE_RECORD_PLACES_INSIDE_H

#include "record/places.h"
#include "symbol/site_tables.h"

struct module {
    struct log_module log;
    uint32_t image; /* number in tables.images */
    bool sought;    /* its table was, so it is here, or there is none */
    const struct sites_header *table;
    uint32_t *frame_sites; /* frame -> site of the trace + 1 */
    bool listed;           /* its functions are in `traced` */
    uint32_t origin;       /* number in tables.modules + 1, 0: not told yet */
};

/* What tables.images does not say. */
struct image_state {
    struct site_tables *tables; /* NULL until needed, or where there are none */
    bool opened;
    bool current; /* its addresses are its own */
};

struct places_inside {
    uint64_t log_at;
    struct module *modules; /* sorted by their first site */
    size_t nmodules, modules_cap;
    size_t tables_read;  /* modules there were when all tables were read */
    uint32_t last_image; /* the modules that follow are its */
    struct image_state *images;
    size_t images_cap;
    struct symbolizer *symbolizer;
    struct map pc_index; /* address -> pcs */
    uint64_t *pcs;
    size_t npcs, pcs_cap;
    struct intern pc_sites; /* location, function, parent -> pc_site */
    uint32_t *pc_site;
    size_t pc_site_cap;
    struct intern traced; /* functions that are compiled for tracing */
};

static inline struct tables *places_tables(struct places *p)
{
    return &p->sink->tables;
}

/* Take what is new in the log. The sink's lock is held. */
void places_log_read(struct places *p);
/* The module a site number belongs to, or NULL. */
struct module *places_module(const struct places_inside *in, uint32_t number);

#endif
