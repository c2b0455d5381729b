/* encode_stretch_loop.h - the loop of encode_stretch.c; no header, it is included for each kind of
 * processor, with the function's name in ADD_NAME and how to put words in ADD_WORDS */
static size_t ADD_NAME(struct encoder *e, struct raw_run *r, struct pens *pens, uint32_t limit)
{
    struct stretch_contexts *x = &e->stretches;
    struct pens p = *pens; /* in registers */
    const uint64_t *w = r->at;
    uint32_t count = e->count;

    for (unsigned n = 0; n < AT_ONCE && w < r->end && *w >> 63; n++) {
        unsigned words = *w >> 56 & 0x7f, item;
        uint64_t entry = entry_of(r, (uint32_t)*w);
        uint32_t events = entry >> 40 & 0xff, number = (uint32_t)entry;
        struct stretch_context *c;
        uint64_t *last, masks = 0;
        uint8_t *unchanged = p.masks;
        bool same;

        if (!entry_fits(entry, words, r, w) || events > limit - count)
            break;
        c = stretch_context_of(x, number, words);
        last = x->words + c->at;
        item = put_stretch(&p, x, number);
        item |= ADD_WORDS(&p, w, last, words, &masks);
        same = masks == c->masks && words <= ITEM_SAME_WORDS;
        c->masks = masks;
        p.masks = same ? unchanged : p.masks;
        item |= same ? ITEM_SAME : 0;
        *p.items++ = (uint8_t)item;
        stretch_context_moves(x, number, *w);
        count += events;
        w += words;
    }
    r->at = w;
    *pens = p;
    return count - e->count;
}

#undef ADD_NAME
#undef ADD_WORDS
