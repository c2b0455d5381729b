/* table.c - the site table and the bitcode that travel in the object file (abi/rt_sites.h)
 *
 * File names are as the command line spelt them where the debug information has them so; a name
 * that is relative to another directory than the compilation's gets that directory in front.
 */
#include "pass/pass.h"

#include <llvm-c/Comdat.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rt_sites.h"
#include "pass/bitcode.h"
#include "abi/abi.h"

struct place {
    uint32_t file, function;
};

struct table {
    struct {
        struct sites_site *at;
        size_t count, room;
    } sites;
    struct {
        struct sites_frame *at;
        size_t count, room;
    } frames;
    struct bytes strings;
    uint32_t *slots; /* hash of strings: offset */
    size_t nstrings, mask;
    struct map frame_of; /* location -> frame + 1 */
    struct map scopes;   /* scope -> file << 32 | function */
    struct bytes bitcode;
    uint64_t id[2];
    const char *source;
    char *directory; /* owned */
};

/* ---- strings ---- */

static uint64_t hash_bytes(const void *data, size_t n, uint64_t h)
{
    const char *s = data;
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 29;
    }
    for (; n; n--, s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static void rehash_strings(struct table *t)
{
    t->mask = t->mask ? 2 * t->mask + 1 : 255;
    free(t->slots);
    t->slots = zeroed((t->mask + 1) * sizeof *t->slots);
    for (size_t at = 1; at < t->strings.count; at += strlen(t->strings.at + at) + 1) {
        size_t i = hash_bytes(t->strings.at + at, strlen(t->strings.at + at), 1) & t->mask;
        while (t->slots[i])
            i = (i + 1) & t->mask;
        t->slots[i] = (uint32_t)at;
    }
}

static uint32_t string(struct table *t, const char *s, size_t n)
{
    if (n == 0)
        return 0;
    if (2 * t->nstrings >= t->mask)
        rehash_strings(t);
    size_t i = hash_bytes(s, n, 1) & t->mask;
    for (; t->slots[i]; i = (i + 1) & t->mask) {
        const char *there = t->strings.at + t->slots[i];
        if (strncmp(there, s, n) == 0 && there[n] == 0)
            return t->slots[i];
    }
    t->slots[i] = (uint32_t)t->strings.count;
    t->nstrings++;
    bytes_add(&t->strings, s, n);
    bytes_add(&t->strings, "", 1);
    return t->slots[i];
}

/* ---- life ---- */

/* Source and directory are among the strings. */
static void make_id(struct table *t)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t h = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        h = hash_bytes(t->bitcode.at, t->bitcode.count, h);
        h = hash_bytes(t->sites.at, t->sites.count * sizeof *t->sites.at, h);
        h = hash_bytes(t->frames.at, t->frames.count * sizeof *t->frames.at, h);
        t->id[i] = hash_bytes(t->strings.at, t->strings.count, h);
    }
}

static char *compilation_directory(LLVMModuleRef module)
{
    LLVMValueRef unit;
    unsigned n = 0;
    const char *s = "";
    if (LLVMGetNamedMetadataNumOperands(module, "llvm.dbg.cu") == 1) {
        LLVMGetNamedMetadataOperands(module, "llvm.dbg.cu", &unit);
        LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMValueAsMetadata(unit));
        s = file ? LLVMDIFileGetDirectory(file, &n) : "";
    }
    char *copy = zeroed(n + 1);
    memcpy(copy, s ? s : "", n);
    return copy;
}

struct table *table_new(LLVMModuleRef module)
{
    struct table *t = zeroed(sizeof *t);
    size_t n;
    bytes_add(&t->strings, "", 1);
    bitcode_write(module, &t->bitcode);
    t->source = LLVMGetSourceFileName(module, &n);
    t->directory = compilation_directory(module);
    return t;
}

void table_free(struct table *t)
{
    free(t->bitcode.at);
    free(t->sites.at);
    free(t->frames.at);
    free(t->strings.at);
    free(t->slots);
    free(t->directory);
    map_release(&t->frame_of);
    map_release(&t->scopes);
    free(t);
}

uint32_t table_count(const struct table *t)
{
    return (uint32_t)t->sites.count;
}

/* ---- places ---- */

static uint32_t file_name(struct table *t, LLVMMetadataRef file)
{
    unsigned n = 0, nd = 0;
    const char *name = file ? LLVMDIFileGetFilename(file, &n) : NULL;
    const char *directory = file ? LLVMDIFileGetDirectory(file, &nd) : NULL;
    if (!name || n == 0)
        return string(t, t->source, strlen(t->source));
    bool same = nd == strlen(t->directory) && memcmp(directory, t->directory, nd) == 0;
    if (name[0] == '/' || nd == 0 || same)
        return string(t, name, n);
    struct bytes joined = { 0 };
    bytes_add(&joined, directory, nd);
    bytes_add(&joined, "/", 1);
    bytes_add(&joined, name, n);
    uint32_t at = string(t, joined.at, joined.count);
    free(joined.at);
    return at;
}

LLVMMetadataRef subprogram_of(struct pass *p, LLVMMetadataRef scope)
{
    while (scope && LLVMGetMetadataKind(scope) != LLVMDISubprogramMetadataKind) {
        LLVMMetadataKind kind = LLVMGetMetadataKind(scope);
        if (kind != LLVMDILexicalBlockMetadataKind && kind != LLVMDILexicalBlockFileMetadataKind)
            return NULL;
        scope = node_operand(p, scope, 1);
    }
    return scope;
}

static uint32_t function_name(struct pass *p, LLVMMetadataRef subprogram)
{
    const char *s = subprogram ? node_string(p, subprogram, 3) : NULL;
    if (!s && subprogram)
        s = node_string(p, subprogram, 2);
    return s ? string(p->table, s, strlen(s)) : 0;
}

static struct place table_place_of(struct pass *p, LLVMMetadataRef scope)
{
    uint64_t known = map_get(&p->table->scopes, scope);
    if (!known) {
        uint64_t file = file_name(p->table, LLVMDIScopeGetFile(scope));
        known = file << 32 | function_name(p, subprogram_of(p, scope));
        map_set(&p->table->scopes, scope, known);
    }
    return (struct place){ (uint32_t)(known >> 32), (uint32_t)known };
}

static uint32_t frame_number(struct pass *p, LLVMMetadataRef at)
{
    struct table *t = p->table;
    uint32_t known = at ? (uint32_t)map_get(&t->frame_of, at) : 0;
    if (!at || known)
        return known;
    uint32_t outer = frame_number(p, LLVMDILocationGetInlinedAt(at));
    struct place place = table_place_of(p, LLVMDILocationGetScope(at));
    RESERVE(t->frames);
    t->frames.at[t->frames.count++] = (struct sites_frame){ .file = place.file,
                                                            .line = LLVMDILocationGetLine(at),
                                                            .column = LLVMDILocationGetColumn(at),
                                                            .function = place.function,
                                                            .inlined_at = outer };
    map_set(&t->frame_of, at, t->frames.count);
    return (uint32_t)t->frames.count;
}

static bool has_line(LLVMMetadataRef at)
{
    return at && LLVMDILocationGetLine(at) != 0;
}

static bool is_same_frame(struct pass *p, LLVMMetadataRef a, LLVMMetadataRef b)
{
    return LLVMDILocationGetInlinedAt(a) == LLVMDILocationGetInlinedAt(b) &&
           subprogram_of(p, LLVMDILocationGetScope(a)) ==
               subprogram_of(p, LLVMDILocationGetScope(b));
}

/* The compiler made one instruction of several (the same store on two paths, say), whose lines
 * differ: it has none. The line before it in its block, of the same function, is mostly the branch
 * that the paths begin with; else the one behind. NULL: neither is there. */
static LLVMMetadataRef line_beside(struct pass *p, LLVMValueRef inst, LLVMMetadataRef merged)
{
    LLVMValueRef (*const step[])(LLVMValueRef) = { LLVMGetPreviousInstruction,
                                                   LLVMGetNextInstruction };
    for (int k = 0; k < 2; k++)
        for (LLVMValueRef i = step[k](inst); i; i = step[k](i)) {
            LLVMMetadataRef at = is_debug(i) ? NULL : LLVMInstructionGetDebugLoc(i);
            if (has_line(at) && is_same_frame(p, at, merged))
                return at;
        }
    return NULL;
}

static LLVMMetadataRef line_of(LLVMValueRef value)
{
    LLVMMetadataRef at =
        LLVMIsAInstruction(value) && !is_debug(value) ? LLVMInstructionGetDebugLoc(value) : NULL;
    return has_line(at) ? at : NULL;
}

/* Another access of this function to the same place, with a line. */
static LLVMMetadataRef line_of_place(struct pass *p, LLVMValueRef inst)
{
    LLVMValueRef place = LLVMGetOperand(inst, LLVMIsAStoreInst(inst) ? 1 : 0);
    int looks = 256; /* a global may have uses all over the module */
    for (LLVMUseRef use = LLVMGetFirstUse(place); use && looks--; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsALoadInst(user) && !LLVMIsAStoreInst(user))
            continue;
        LLVMMetadataRef at = line_of(user);
        if (at && LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) == p->function)
            return at;
    }
    return NULL;
}

/* The compiler moved an access out of a loop (x++ in it: one load before, one store behind) and
 * left it no location at all. The other one has the line of the source; else what uses the value,
 * or made it. NULL: they have none either. */
static LLVMMetadataRef line_of_moved(struct pass *p, LLVMValueRef inst)
{
    if (!LLVMIsALoadInst(inst) && !LLVMIsAStoreInst(inst))
        return NULL;
    LLVMMetadataRef at = line_of_place(p, inst);
    for (LLVMUseRef use = LLVMGetFirstUse(inst); use && !at; use = LLVMGetNextUse(use))
        at = line_of(LLVMGetUser(use));
    return at || !LLVMIsAStoreInst(inst) ? at : line_of(LLVMGetOperand(inst, 0));
}

static void fill_location(struct pass *p, struct sites_site *s, LLVMValueRef inst)
{
    LLVMMetadataRef at = inst ? LLVMInstructionGetDebugLoc(inst) : NULL;
    LLVMMetadataRef beside = has_line(at) || !inst ? NULL
                             : at                  ? line_beside(p, inst, at)
                                                   : line_of_moved(p, inst);
    LLVMMetadataRef sub = LLVMGetSubprogram(p->function);
    size_t n;
    if (beside)
        at = beside;
    const char *name = LLVMGetValueName2(p->function, &n);
    s->function = string(p->table, name, n);
    if (at) {
        struct place place = table_place_of(p, LLVMDILocationGetScope(at));
        unsigned column = beside ? 0 : LLVMDILocationGetColumn(at);
        s->file = place.file;
        s->line = LLVMDILocationGetLine(at);
        s->column = column > UINT16_MAX ? 0 : (uint16_t)column;
        s->inlined_at = frame_number(p, LLVMDILocationGetInlinedAt(at));
        if (s->inlined_at && place.function) /* else the linkage name is the function's own */
            s->function = place.function;
    } else {
        s->file = file_name(p->table, sub ? LLVMDIScopeGetFile(sub) : NULL);
        s->line = sub && !inst ? LLVMDISubprogramGetLine(sub) : 0;
    }
}

void table_set_loose(struct table *t, uint32_t site)
{
    t->sites.at[site].loose = 1;
}

uint32_t table_site(struct pass *p, int kind, LLVMValueRef inst, uint32_t index, uint64_t bytes,
                    const char *variable)
{
    struct table *t = p->table;
    struct sites_site s = { .kind = (uint8_t)kind, .function_index = p->function_index };
    s.instruction_index = index;
    s.size = bytes > UINT32_MAX ? 0 : (uint32_t)bytes;
    s.variable = string(t, variable, strlen(variable));
    fill_location(p, &s, inst);
    RESERVE(t->sites);
    t->sites.at[t->sites.count++] = s;
    return (uint32_t)t->sites.count - 1;
}

void table_set_from(struct table *t, uint32_t site, uint8_t from, int32_t offset)
{
    t->sites.at[site].from = from;
    t->sites.at[site].offset = offset;
}

uint32_t table_stretch(struct table *t, const struct sites_site *stretch)
{
    RESERVE(t->sites);
    t->sites.at[t->sites.count++] = *stretch;
    return (uint32_t)t->sites.count - 1;
}

/* ---- into the module ---- */

void add_to_list(struct pass *p, const char *list, const char *section, LLVMValueRef value)
{
    LLVMValueRef old = LLVMGetNamedGlobal(p->module, list);
    LLVMValueRef init = old ? LLVMGetInitializer(old) : NULL;
    unsigned n = init ? (unsigned)LLVMGetArrayLength2(LLVMTypeOf(init)) : 0;
    LLVMValueRef *all = zeroed((n + 1) * sizeof *all);
    for (unsigned i = 0; i < n; i++)
        all[i] = LLVMGetAggregateElement(init, i);
    all[n] = value;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef new = LLVMAddGlobal(p->module, LLVMArrayType2(type, n + 1), "");
    LLVMSetLinkage(new, LLVMAppendingLinkage);
    LLVMSetInitializer(new, LLVMConstArray2(type, all, n + 1));
    if (section)
        LLVMSetSection(new, section);
    if (old)
        LLVMDeleteGlobal(old);
    LLVMSetValueName2(new, list, strlen(list));
    free(all);
}

static uint32_t module_flags(const struct pass *p)
{
    return (p->full ? MODULE_FULL : 0) | (p->production ? MODULE_PRODUCTION
                                          : p->no_calls ? MODULE_NO_CALLS
                                                        : 0);
}

/* The table itself, its strings complete; the id comes of it. */
static struct bytes make_table(struct pass *p)
{
    struct table *t = p->table;
    struct sites_header h = { .flags =
                                  module_flags(p) | (p->full || p->production ? 0 : SITES_MARKED) };
    struct bytes all = { 0 };
    h.source = string(t, t->source, strlen(t->source));
    h.directory = string(t, t->directory, strlen(t->directory));
    bytes_pad(&t->strings, 8);
    make_id(t);
    memcpy(h.magic, SITES_MAGIC, sizeof h.magic);
    memcpy(h.id, t->id, sizeof h.id);
    h.nsites = (uint32_t)t->sites.count;
    h.nframes = (uint32_t)t->frames.count;
    h.string_bytes = (uint32_t)t->strings.count;
    h.total_bytes = sizeof h + h.nsites * sizeof *t->sites.at + h.nframes * sizeof *t->frames.at +
                    h.string_bytes;
    bytes_add(&all, &h, sizeof h);
    bytes_add(&all, t->sites.at, h.nsites * sizeof *t->sites.at);
    bytes_add(&all, t->frames.at, h.nframes * sizeof *t->frames.at);
    bytes_add(&all, t->strings.at, h.string_bytes);
    return all;
}

static void append_blob(struct pass *p, struct bytes *blob)
{
    struct bytes table = make_table(p), *code = &p->table->bitcode;
    struct sites_packed h = { .table_bytes = table.count, .bitcode_bytes = code->count };
    memcpy(h.magic, SITES_PACKED_MAGIC, sizeof h.magic);
    memcpy(h.id, p->table->id, sizeof h.id);
    bytes_add(blob, &h, sizeof h);
    h.table_packed = pack(blob, table.at, table.count);
    h.bitcode_packed = pack(blob, code->at, code->count);
    bytes_pad(blob, 8);
    h.total_bytes = blob->count;
    memcpy(blob->at, &h, sizeof h);
    free(table.at);
}

static void emit_blob(struct pass *p)
{
    struct bytes blob = { 0 };
    append_blob(p, &blob);
    LLVMValueRef data = LLVMConstStringInContext2(p->context, blob.at, blob.count, true);
    LLVMValueRef global = LLVMAddGlobal(p->module, LLVMTypeOf(data), "__heddle_sites");
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetInitializer(global, data);
    LLVMSetGlobalConstant(global, true);
    LLVMSetSection(global, SITES_SECTION);
    LLVMSetAlignment(global, 8);
    add_to_list(p, "llvm.compiler.used", "llvm.metadata", global);
    free(blob.at);
}

static void emit_record(struct pass *p)
{
    struct heddle_module m = { .sites = table_count(p->table), .flags = module_flags(p) };
    memcpy(m.id, p->table->id, sizeof m.id);
    LLVMSetInitializer(p->record,
                       LLVMConstStringInContext2(p->context, (const char *)&m, sizeof m, true));
    LLVMSetSection(p->record, MODULES_SECTION);
    LLVMSetAlignment(p->record, 8);
    add_to_list(p, "llvm.used", "llvm.metadata", p->record);
}

static LLVMValueRef hidden_global(struct pass *p, const char *name)
{
    LLVMValueRef g = global_named(p, p->i8, name);
    LLVMSetVisibility(g, LLVMHiddenVisibility);
    return g;
}

/* A function that the linker keeps one of, in each image; the builder is in it. */
static LLVMValueRef begin_once(struct pass *p, const char *name)
{
    LLVMValueRef f = LLVMAddFunction(p->module, name, LLVMFunctionType(p->none, NULL, 0, false));
    LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    LLVMSetVisibility(f, LLVMHiddenVisibility);
    LLVMSetComdat(f, LLVMGetOrInsertComdat(p->module, name));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("nounwind"), 0));
    LLVMPositionBuilderAtEnd(p->b, LLVMAppendBasicBlockInContext(p->context, f, ""));
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    return f;
}

static void end_once(struct pass *p, LLVMValueRef f, const char *list)
{
    LLVMValueRef entry[] = { const32(p, 0), f, f };
    LLVMBuildRetVoid(p->b);
    add_to_list(p, list, NULL, LLVMConstStructInContext(p->context, entry, 3, false));
}

static void load_version(struct pass *p)
{
    LLVMValueRef version = global_named(p, p->i8, ABI_VERSION_SYMBOL);
    LLVMSetVolatile(LLVMBuildLoad2(p->b, p->i8, version, ""), true);
}

static void register_modules(struct pass *p)
{
    LLVMValueRef bounds[] = { hidden_global(p, "__start_" MODULES_SECTION),
                              hidden_global(p, "__stop_" MODULES_SECTION) };
    call_runtime(p, "__heddle_register", EFFECT_ALL, p->none, 2, bounds);
}

/* One per image: the linker keeps one of the COMDAT's copies. Its name has the version of the
 * interface, as has the symbol it reads: objects of different versions do not link. */
static void emit_constructor(struct pass *p)
{
    LLVMValueRef f = begin_once(p, "__heddle_init" ABI_VERSION_SYMBOL);
    load_version(p);
    LLVMValueRef lists[] = { hidden_global(p, "__start_" FUNCTIONS_SECTION),
                             hidden_global(p, "__stop_" FUNCTIONS_SECTION),
                             hidden_global(p, "__start_" VARIABLES_SECTION),
                             hidden_global(p, "__stop_" VARIABLES_SECTION) };
    call_runtime(p, "__heddle_register_lists", EFFECT_ALL, p->none, 4, lists);
    register_modules(p);
    end_once(p, f, "llvm.global_ctors");
}

/* An empty entry: so the section is there in an image without any access. */
static void emit_empty_patch(struct pass *p)
{
    LLVMTypeRef type = LLVMArrayType2(p->i32, 5); /* struct heddle_patch */
    LLVMValueRef g = LLVMAddGlobal(p->module, type, "__heddle_no_patch");
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetInitializer(g, LLVMConstNull(type));
    LLVMSetGlobalConstant(g, true);
    LLVMSetSection(g, "heddle_patch");
    LLVMSetAlignment(g, 4);
    add_to_list(p, "llvm.used", "llvm.metadata", g);
}

/* Production builds: a pair of their own, so that both kinds of modules may be in one image. */
static void emit_production_constructor(struct pass *p)
{
    LLVMValueRef f = begin_once(p, "__heddle_init_production" ABI_VERSION_SYMBOL);
    load_version(p);
    register_modules(p);
    LLVMValueRef bounds[] = { hidden_global(p, "__start_heddle_patch"),
                              hidden_global(p, "__stop_heddle_patch") };
    call_runtime(p, "__heddle_register_patches", EFFECT_ALL, p->none, 2, bounds);
    end_once(p, f, "llvm.global_ctors");
    f = begin_once(p, "__heddle_exit_production" ABI_VERSION_SYMBOL);
    call_runtime(p, "__heddle_forget_patches", EFFECT_ALL, p->none, 1, bounds);
    end_once(p, f, "llvm.global_dtors");
}

void table_emit(struct pass *p)
{
    emit_blob(p); /* makes the id */
    emit_record(p);
    if (p->production) {
        emit_empty_patch(p);
        emit_production_constructor(p);
    } else
        emit_constructor(p);
}
