/* names.c - names of variables, from debug information and types
 *
 *     counter             a global or local
 *     config.limits.max   a member of one
 *     struct q::head      a member reached through a pointer
 *
 * Members need full debug information (-g): the type and offset come from the TBAA tag of an
 * optimised access, or from the GEP before it, and are looked up among the structures that the
 * debug information describes. Without it, only globals have names.
 */
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 100000, DEPTH_MAX = 8, OPERANDS_MAX = 4096 };
enum {
    TAG_CLASS = 0x02,
    TAG_MEMBER = 0x0d,
    TAG_STRUCT = 0x13,
    TAG_TYPEDEF = 0x16,
    TAG_UNION = 0x17,
    TAG_CONST = 0x26,
    TAG_VOLATILE = 0x35,
    TAG_ARRAY = 0x01,
    TAG_ATOMIC = 0x47
};
/* Operands of metadata nodes, as LLVM 19 lays them out. */
enum {
    TYPE_NAME = 2,
    TYPE_BASE = 3,
    COMPOSITE_ELEMENTS = 4,
    COMPOSITE_IDENTIFIER = 7,
    VARIABLE_NAME = 1,
    VARIABLE_TYPE = 3
};

struct names {
    struct map locals; /* alloca -> variable of the debug information */
    struct map seen;   /* nodes walked */
    struct {
        LLVMMetadataRef *at;
        size_t count, room;
    } composites;
    bool walked;
    char text[512];
};

/* ---- metadata nodes ---- */

static LLVMValueRef operand_value(struct pass *p, LLVMMetadataRef node, unsigned index)
{
    LLVMValueRef v = LLVMMetadataAsValue(p->context, node);
    unsigned n = LLVMGetMDNodeNumOperands(v);
    if (index >= n || n > OPERANDS_MAX)
        return NULL;
    LLVMValueRef all[OPERANDS_MAX];
    LLVMGetMDNodeOperands(v, all);
    return all[index];
}

LLVMMetadataRef node_operand(struct pass *p, LLVMMetadataRef node, unsigned index)
{
    LLVMValueRef v = operand_value(p, node, index);
    return v ? LLVMValueAsMetadata(v) : NULL;
}

const char *node_string(struct pass *p, LLVMMetadataRef node, unsigned index)
{
    unsigned n;
    LLVMValueRef v = operand_value(p, node, index);
    const char *s = v && LLVMIsAMDString(v) ? LLVMGetMDString(v, &n) : NULL;
    return s && *s ? s : NULL;
}

static unsigned tag_of(LLVMMetadataRef node)
{
    switch (LLVMGetMetadataKind(node)) {
    case LLVMDICompositeTypeMetadataKind:
    case LLVMDIDerivedTypeMetadataKind:
        return LLVMGetDINodeTag(node);
    default:
        return 0;
    }
}

static bool is_structure(LLVMMetadataRef node)
{
    unsigned tag = tag_of(node);
    return tag == TAG_STRUCT || tag == TAG_CLASS || tag == TAG_UNION;
}

/* ---- locals ---- */

/* dbg.declare and dbg.value have the address first, dbg.assign (optimised code) fifth. A value
 * that is an alloca is the variable's place, too. */
static void note_declare(struct names *n, LLVMValueRef call, bool assign)
{
    LLVMValueRef slot = LLVMGetOperand(call, assign ? 4 : 0), address;
    if (LLVMGetMetadataKind(LLVMValueAsMetadata(slot)) != LLVMLocalAsMetadataMetadataKind)
        return; /* a constant, or a list of values */
    LLVMGetMDNodeOperands(slot, &address);
    if (address && LLVMIsAAllocaInst(address))
        map_set(&n->locals, address,
                (uint64_t)(uintptr_t)LLVMValueAsMetadata(LLVMGetOperand(call, 1)));
}

static void note_locals(struct pass *p, struct names *n)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                const char *name = LLVMIsACallInst(i) ? intrinsic_name(i) : NULL;
                if (name && starts_with(name, "llvm.dbg.") && !starts_with(name, "llvm.dbg.label"))
                    note_declare(n, i, strcmp(name, "llvm.dbg.assign") == 0);
            }
}

struct names *names_new(struct pass *p)
{
    struct names *n = zeroed(sizeof *n);
    if (LLVMGetNamedMetadata(p->module, "llvm.dbg.cu", 11))
        note_locals(p, n);
    return n;
}

void names_free(struct names *n)
{
    map_release(&n->locals);
    map_release(&n->seen);
    free(n->composites.at);
    free(n);
}

/* ---- structures of the debug information ---- */

struct queue {
    LLVMMetadataRef *at;
    size_t count, room;
};

static void names_visit(struct names *n, struct queue *q, LLVMMetadataRef node)
{
    if (!node || n->seen.count > NODES_MAX || map_get(&n->seen, node))
        return;
    map_set(&n->seen, node, 1);
    RESERVE(*q);
    q->at[q->count++] = node;
}

static void visit_operands(struct pass *p, struct queue *q, LLVMMetadataRef node)
{
    LLVMValueRef v = LLVMMetadataAsValue(p->context, node), all[OPERANDS_MAX];
    if (!LLVMIsAMDNode(v) || LLVMGetMDNodeNumOperands(v) > OPERANDS_MAX)
        return;
    LLVMGetMDNodeOperands(v, all);
    for (unsigned i = 0; i < LLVMGetMDNodeNumOperands(v); i++)
        if (all[i] && LLVMIsAMDNode(all[i]))
            names_visit(p->names, q, LLVMValueAsMetadata(all[i]));
}

/* Walks all that the compile units, functions and locals refer to. Once per module. */
static void find_structures(struct pass *p)
{
    struct names *n = p->names;
    struct queue q = { 0 };
    LLVMValueRef units[64];
    n->walked = true;
    if (LLVMGetNamedMetadataNumOperands(p->module, "llvm.dbg.cu") > 64)
        return;
    LLVMGetNamedMetadataOperands(p->module, "llvm.dbg.cu", units);
    for (unsigned i = 0; i < LLVMGetNamedMetadataNumOperands(p->module, "llvm.dbg.cu"); i++)
        names_visit(n, &q, LLVMValueAsMetadata(units[i]));
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
        names_visit(n, &q, LLVMGetSubprogram(f));
    for (size_t i = 0; n->locals.mask && i <= n->locals.mask; i++)
        if (n->locals.slots[i].key)
            names_visit(n, &q, (LLVMMetadataRef)(uintptr_t)n->locals.slots[i].value);
    while (q.count > 0) {
        LLVMMetadataRef node = q.at[--q.count];
        if (is_structure(node)) {
            RESERVE(n->composites);
            n->composites.at[n->composites.count++] = node;
        }
        visit_operands(p, &q, node);
    }
    free(q.at);
}

/* `name` is an identifier ("_ZTS1q") or a plain name, of a type of at least `bytes` bytes. */
static LLVMMetadataRef find_structure(struct pass *p, const char *name, uint64_t bytes)
{
    if (!p->names->walked)
        find_structures(p);
    for (size_t i = 0; i < p->names->composites.count; i++) {
        LLVMMetadataRef node = p->names->composites.at[i];
        const char *plain = node_string(p, node, TYPE_NAME);
        const char *identifier = node_string(p, node, COMPOSITE_IDENTIFIER);
        bool same =
            (identifier && strcmp(identifier, name) == 0) || (plain && strcmp(plain, name) == 0);
        if (same && LLVMDITypeGetSizeInBits(node) / 8 >= bytes)
            return node;
    }
    return NULL;
}

/* ---- members ---- */

static LLVMMetadataRef strip_type(struct pass *p, LLVMMetadataRef type)
{
    for (int depth = 0; type && depth < DEPTH_MAX; depth++) {
        unsigned tag = tag_of(type);
        if (tag != TAG_TYPEDEF && tag != TAG_CONST && tag != TAG_VOLATILE && tag != TAG_ATOMIC &&
            tag != TAG_ARRAY)
            break;
        type = node_operand(p, type, TYPE_BASE);
    }
    return type;
}

static LLVMMetadataRef member_at(struct pass *p, LLVMMetadataRef structure, uint64_t offset,
                                 uint64_t size, uint64_t *rest)
{
    LLVMMetadataRef list = node_operand(p, structure, COMPOSITE_ELEMENTS);
    if (!list)
        return NULL;
    LLVMValueRef v = LLVMMetadataAsValue(p->context, list), all[OPERANDS_MAX];
    unsigned n = LLVMGetMDNodeNumOperands(v);
    if (n > OPERANDS_MAX)
        return NULL;
    LLVMGetMDNodeOperands(v, all);
    for (unsigned i = 0; i < n; i++) {
        LLVMMetadataRef m = all[i] ? LLVMValueAsMetadata(all[i]) : NULL;
        if (!m || LLVMGetMetadataKind(m) != LLVMDIDerivedTypeMetadataKind ||
            LLVMGetDINodeTag(m) != TAG_MEMBER || LLVMDITypeGetFlags(m) & LLVMDIFlagStaticMember)
            continue;
        uint64_t start = LLVMDITypeGetOffsetInBits(m) / 8;
        uint64_t bytes = (LLVMDITypeGetSizeInBits(m) + 7) / 8;
        if (offset < start || offset + size > start + bytes)
            continue;
        *rest = offset - start;
        return m;
    }
    return NULL;
}

/* Appends the path of members that leads to the bytes: ".limits.max". */
static void add_members(struct pass *p, LLVMMetadataRef type, uint64_t offset, uint64_t bytes,
                        const char *dot)
{
    char *text = p->names->text;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        type = strip_type(p, type);
        if (!type || !is_structure(type) || bytes == 0)
            return;
        uint64_t size = LLVMDITypeGetSizeInBits(type) / 8;
        LLVMMetadataRef member = member_at(p, type, size ? offset % size : 0, bytes, &offset);
        const char *name = member ? node_string(p, member, TYPE_NAME) : NULL;
        if (!member)
            return;
        size_t used = strlen(text);
        if (name) /* members without a name: anonymous structures */
            snprintf(text + used, sizeof p->names->text - used, "%s%s", dot, name);
        dot = name ? "." : dot;
        type = node_operand(p, member, TYPE_BASE);
    }
}

/* ---- accesses ---- */

static void name_global(struct pass *p, LLVMValueRef global, int64_t offset, uint64_t bytes)
{
    size_t n, count;
    const char *name = LLVMGetValueName2(global, &n);
    unsigned dbg = LLVMGetMDKindIDInContext(p->context, "dbg", 3);
    LLVMMetadataRef variable = NULL;
    LLVMValueMetadataEntry *all = LLVMGlobalCopyAllMetadata(global, &count);
    for (unsigned i = 0; i < count; i++)
        if (LLVMValueMetadataEntriesGetKind(all, i) == dbg)
            variable = LLVMDIGlobalVariableExpressionGetVariable(
                LLVMValueMetadataEntriesGetMetadata(all, i));
    LLVMDisposeValueMetadataEntries(all);
    const char *plain = variable ? node_string(p, variable, VARIABLE_NAME) : NULL;
    snprintf(p->names->text, sizeof p->names->text, "%s", plain ? plain : name);
    if (variable && offset >= 0)
        add_members(p, node_operand(p, variable, VARIABLE_TYPE), (uint64_t)offset, bytes, ".");
}

static void name_local(struct pass *p, LLVMMetadataRef variable, int64_t offset, uint64_t bytes)
{
    const char *name = node_string(p, variable, VARIABLE_NAME);
    snprintf(p->names->text, sizeof p->names->text, "%s", name ? name : "");
    if (name && offset >= 0)
        add_members(p, node_operand(p, variable, VARIABLE_TYPE), (uint64_t)offset, bytes, ".");
}

static void name_member(struct pass *p, const char *type_name, uint64_t offset, uint64_t bytes)
{
    LLVMMetadataRef type = find_structure(p, type_name, offset + 1);
    const char *plain = type ? node_string(p, type, TYPE_NAME) : NULL;
    if (!plain)
        return;
    unsigned tag = tag_of(type);
    const char *word = tag == TAG_UNION ? "union" : tag == TAG_CLASS ? "class" : "struct";
    snprintf(p->names->text, sizeof p->names->text, "%s %s", word, plain);
    add_members(p, type, offset, bytes, "::");
}

/* TBAA: !{base type, access type, offset}; a base type: !{"name", member type, offset ...} */
static bool name_by_tbaa(struct pass *p, LLVMValueRef inst, uint64_t bytes)
{
    LLVMValueRef tag = LLVMGetMetadata(inst, LLVMGetMDKindIDInContext(p->context, "tbaa", 4));
    if (!tag || LLVMGetMDNodeNumOperands(tag) < 3)
        return false;
    LLVMMetadataRef node = LLVMValueAsMetadata(tag);
    LLVMMetadataRef base = node_operand(p, node, 0);
    LLVMValueRef offset = operand_value(p, node, 2);
    const char *name = base ? node_string(p, base, 0) : NULL;
    if (!name || base == node_operand(p, node, 1) || !offset || !LLVMIsAConstantInt(offset))
        return false;
    name_member(p, name, LLVMConstIntGetZExtValue(offset), bytes);
    return p->names->text[0] != 0;
}

/* The offset within a GEP's structure that its constant indices behind the first select. */
static bool offset_in_type(struct pass *p, LLVMValueRef gep, uint64_t *offset)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    *offset = 0;
    for (int i = 2; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        if (LLVMGetTypeKind(type) != LLVMStructTypeKind || !LLVMIsAConstantInt(index))
            return i > 2;
        unsigned k = (unsigned)LLVMConstIntGetZExtValue(index);
        *offset += LLVMOffsetOfElement(p->layout, type, k);
        type = LLVMStructGetTypeAtIndex(type, k);
    }
    return LLVMGetNumOperands(gep) > 2;
}

/* LLVM's "struct.ns::name.7" without prefix, namespaces and number. */
static const char *plain_type_name(const char *s, char *out, size_t room)
{
    const char *dot = strchr(s, '.');
    const char *start = dot ? dot + 1 : s;
    for (const char *c; (c = strstr(start, "::"));)
        start = c + 2;
    snprintf(out, room, "%s", start);
    char *number = strrchr(out, '.');
    if (number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1))
        *number = 0;
    return out;
}

/* The outermost structure that constant indices lead out of. */
static void name_by_gep(struct pass *p, LLVMValueRef address, uint64_t bytes)
{
    char name[256] = "";
    uint64_t sum = 0, offset;
    for (int depth = 0; depth < DEPTH_MAX && LLVMIsAGetElementPtrInst(address); depth++) {
        LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
        const char *s =
            LLVMGetTypeKind(type) == LLVMStructTypeKind ? LLVMGetStructName(type) : NULL;
        if (!offset_in_type(p, address, &offset))
            break;
        sum += offset;
        if (s)
            plain_type_name(s, name, sizeof name);
        LLVMValueRef first = LLVMGetOperand(address, 1);
        if (!LLVMIsAConstantInt(first) || LLVMConstIntGetSExtValue(first) != 0)
            break;
        address = LLVMGetOperand(address, 0);
    }
    if (name[0])
        name_member(p, name, sum, bytes);
}

const char *variable_name(struct pass *p, LLVMValueRef inst, LLVMValueRef address, uint64_t bytes)
{
    int64_t offset;
    LLVMValueRef object = underlying_object(address);
    bool exact = strip_offset(p, address, &offset) == object;
    p->names->text[0] = 0;
    if (LLVMIsAGlobalVariable(object)) {
        name_global(p, object, exact ? offset : -1, bytes);
    } else if (LLVMIsAAllocaInst(object)) {
        uint64_t variable = map_get(&p->names->locals, object);
        if (variable)
            name_local(p, (LLVMMetadataRef)(uintptr_t)variable, exact ? offset : -1, bytes);
    } else if (!name_by_tbaa(p, inst, bytes)) {
        name_by_gep(p, address, bytes);
    }
    return p->names->text;
}
