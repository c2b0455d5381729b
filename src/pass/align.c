/* align.c - addresses modulo 8, where the code tells
 *
 * The filter keeps words of 8 bytes. If it is known which bytes of its word a narrow access
 * touches, its check needs no shift. Known are offsets from variables and parameters of known
 * alignment, from a base through which the function also makes aligned accesses of 8 bytes, and
 * members of structures that hold a pointer or another scalar of 8 bytes (type-based alias
 * information): those are aligned, unless they are packed, and then the compiler says so for
 * their members of 8 bytes (an alignment below 8): such structures are left out.
 */
#include "pass/pass.h"

#include <string.h>

enum { ALIGNED = 1, PACKED = 2, UNKNOWN = 3, DEPTH_MAX = 6 };

static unsigned tbaa_kind(struct pass *p)
{
    return LLVMGetMDKindIDInContext(p->context, "tbaa", 4);
}

/* A TBAA tag !{structure, member type, offset}; false if it is of a scalar. */
static bool member_tag(struct pass *p, LLVMValueRef inst, LLVMMetadataRef *structure,
                       uint64_t *offset)
{
    LLVMValueRef tag = LLVMGetMetadata(inst, tbaa_kind(p)), all[8];
    unsigned n = tag ? LLVMGetMDNodeNumOperands(tag) : 0;
    if (n < 3 || n > 8)
        return false;
    LLVMGetMDNodeOperands(tag, all);
    if (all[0] == all[1] || !LLVMIsAConstantInt(all[2]))
        return false;
    *structure = LLVMValueAsMetadata(all[0]);
    *offset = LLVMConstIntGetZExtValue(all[2]);
    return true;
}

bool is_member(struct pass *p, LLVMValueRef inst)
{
    LLVMMetadataRef structure;
    uint64_t offset;
    return member_tag(p, inst, &structure, &offset);
}

static bool is_word_type(const char *name)
{
    static const char *const names[] = { "any pointer", "long", "long long", "double",
                                         "vtable pointer" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A structure !{"name", member type, offset, ...}: is one of its scalars a word? */
static bool holds_word(struct pass *p, LLVMMetadataRef type, int depth)
{
    LLVMValueRef v = LLVMMetadataAsValue(p->context, type), all[256];
    unsigned n = LLVMGetMDNodeNumOperands(v), length;
    if (n > 256 || depth > DEPTH_MAX)
        return false;
    LLVMGetMDNodeOperands(v, all);
    if (n == 0 || !all[0] || !LLVMIsAMDString(all[0]))
        return false;
    if (is_word_type(LLVMGetMDString(all[0], &length)))
        return true;
    if (n == 3 && LLVMIsAConstantInt(all[2]) && LLVMConstIntGetZExtValue(all[2]) == 0 &&
        depth > 0) {
        LLVMValueRef parent[8]; /* a scalar, !{"int", parent, 0}, or a structure of one member */
        unsigned k = LLVMGetMDNodeNumOperands(all[1]);
        if (k > 0 && k <= 8 && (LLVMGetMDNodeOperands(all[1], parent), parent[0]) &&
            LLVMIsAMDString(parent[0]) &&
            strcmp(LLVMGetMDString(parent[0], &length), "omnipotent char") == 0)
            return false;
    }
    for (unsigned i = 1; i + 1 < n; i += 2)
        if (all[i] && LLVMIsAMDNode(all[i]) &&
            holds_word(p, LLVMValueAsMetadata(all[i]), depth + 1))
            return true;
    return false;
}

static uint64_t structure_alignment(struct pass *p, LLVMMetadataRef structure)
{
    uint64_t known = map_get(&p->structures, structure);
    if (!known) {
        known = holds_word(p, structure, 0) ? ALIGNED : UNKNOWN;
        map_set(&p->structures, structure, known);
    }
    return known;
}

static unsigned object_alignment(LLVMValueRef base)
{
    if (LLVMIsAGlobalVariable(base) || LLVMIsAAllocaInst(base))
        return LLVMGetAlignment(base);
    if (!LLVMIsAArgument(base))
        return 0;
    LLVMValueRef f = LLVMGetParamParent(base);
    unsigned i = 1;
    for (LLVMValueRef a = LLVMGetFirstParam(f); a != base; a = LLVMGetNextParam(a))
        i++;
    LLVMAttributeRef align = LLVMGetEnumAttributeAtIndex(f, i, attribute_kind("align"));
    return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 0;
}

/* Every function's accesses first say which structures are packed. */
static void note_evidence(struct pass *p, const struct item *item, struct map *aligned)
{
    LLVMMetadataRef structure;
    uint64_t in_structure;
    int64_t offset;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(item), &offset);
    if (item->align >= 8 && offset % 8 == 0)
        map_set(aligned, base, 1);
    if (item->bytes == 8 && item->align < 8 && member_tag(p, item->inst, &structure, &in_structure))
        map_set(&p->structures, structure, PACKED);
}

static int find_low(struct pass *p, const struct item *item, const struct map *aligned)
{
    LLVMMetadataRef structure;
    uint64_t in_structure;
    int64_t offset;
    if (item->align >= 8)
        return 0;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(item), &offset);
    if (object_alignment(base) >= 8 || map_get(aligned, base))
        return (int)(offset & 7);
    if (member_tag(p, item->inst, &structure, &in_structure) &&
        structure_alignment(p, structure) == ALIGNED)
        return (int)(in_structure & 7);
    return -1;
}

void find_alignments(struct pass *p, struct items *items)
{
    struct map aligned = { 0 };
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].kind == ITEM_ACCESS)
            note_evidence(p, &items->at[i], &aligned);
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->at[i];
        item->low = -1;
        if (item->kind != ITEM_ACCESS || item->bytes > 8 || item->align < item->bytes)
            continue;
        int low = find_low(p, item, &aligned);
        item->low = low % (int)item->bytes == 0 ? (int8_t)low : -1;
    }
    map_release(&aligned);
}
