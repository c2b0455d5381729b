/* encode_stretch_loop.h - the loop of encode_stretch.c; no header, it is included for each kind of
 * processor, with the function's name in ADD_NAME and how to put words in ADD_WORDS
 *
 * Columns are bytes, which may alias everything: what the loop needs of the contexts is in local
 * variables. What comes next is often not what was predicted, so that is no branch either: number
 * and masks are always written, and count or not. */
static size_t ADD_NAME(struct encoder *e, struct raw_run *r, struct pens *pens, uint32_t limit)
{
    struct stretch_contexts *x = &e->stretches;
    struct pens p = *pens; /* in registers */
    uint64_t *w = r->at;
    const uint64_t *end = r->end;
    uint64_t *const *pages = r->stretch_pages;
    unsigned page_bits = r->page_bits;
    struct stretch_context *contexts = x->at;
    uint64_t *all = x->words;
    size_t cap = x->cap;
    uint32_t count = e->count, chunk = x->chunk, before = x->last, outcome = x->outcome;

    for (unsigned n = 0; n < AT_ONCE && w < end; n++) {
        uint64_t head = *w, entry, *last, masks = 0;
        unsigned words = ring_stretch_words(head), item;
        uint32_t events, number, *expected;
        struct stretch_context *c;
        uint8_t *unchanged = p.masks;
        size_t new_number, new_masks; /* 1 where it is not as predicted */

        if (!ring_is_stretch(head))
            break;
        entry = entry_of(pages, page_bits, (uint32_t)head);
        events = entry >> 40 & 0xff;
        number = (uint32_t)entry;
        if (!entry_fits(entry, words, (size_t)(end - w)) || events > limit - count)
            break;
        if (stretch_entry_frame(entry) && !take_frame(r, w, entry))
            break;
        if (__builtin_expect(number + (size_t)1 >= cap || contexts[number + 1].chunk != chunk, 0)) {
            stretch_context_new(x, number, words);
            contexts = x->at;
            all = x->words;
            cap = x->cap;
        }
        c = &contexts[number + 1];
        last = all + c->at;
        expected = &contexts[before].next[outcome];
        new_number = hidden(*expected != number);
        *expected = number;
        p.numbers = PUT_NUMBER(p.numbers, number, new_number);
        item = ADD_WORDS(&p, w, last, words, &masks);
        new_masks = hidden((masks != c->masks) | (words > ITEM_SAME_WORDS));
        c->masks = masks;
        p.masks = unchanged + ((size_t)(p.masks - unchanged) & -new_masks);
        item |= (unsigned)new_number * ITEM_NUMBER | (unsigned)(1 - new_masks) * ITEM_SAME;
        *p.items++ = (uint8_t)item;
        before = number + 1;
        outcome = head >> 32 & 1;
        count += events;
        w += words;
    }
    x->last = before;
    x->outcome = outcome;
    r->at = w;
    *pens = p;
    return count - e->count;
}

#undef ADD_NAME
#undef ADD_WORDS
#undef PUT_NUMBER
