/* hb_objects.h - inside of hb.h: one function per kind of synchronisation object */
#ifndef HEDDLE_ORDER_HB_OBJECTS_H
#define HEDDLE_ORDER_HB_OBJECTS_H

#include "order/hb.h"

void hb_objects_grow(struct hb *h, uint32_t count);
void hb_objects_release(struct hb *h);
/* Locks, barriers, semaphores, once, annotations. */
void hb_object_step(struct hb *h, const struct step *s);

void hb_atomics_release(struct hb *h);
void hb_atomic_before(struct hb *h, const struct step *s);
void hb_fence(struct hb *h, const struct step *s);

#endif
