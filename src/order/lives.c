/* lives.c - one name for each use of a variable's number */
#include "order/lives.h"

#include <stdlib.h>

void lives_release(struct lives *l)
{
    free(l->of_variable);
    free(l->parent);
    *l = (struct lives){ 0 };
}

void lives_restart(struct lives *l)
{
    l->begun = 0;
}

uint32_t lives_new(struct lives *l, uint32_t of)
{
    uint32_t life = l->begun++;

    if (life < l->known)
        return life;
    l->known = life + 1;
    GROW(l->parent, l->parent_cap, l->known);
    l->parent[life] = of == UINT32_MAX ? life : lives_family(l, of);
    return life;
}
