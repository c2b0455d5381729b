/* excluded.c - functions and files that are not to be traced
 *
 * HEDDLE_EXCLUDE holds patterns separated by newlines or semicolons, HEDDLE_EXCLUDE_FILE names a
 * file of them ('#' starts a comment). `fun:GLOB` matches a function's linkage or plain name,
 * `src:GLOB` the file it is in (or the module's), a bare GLOB any of them. A pattern for files
 * without '/' also matches the last part of a path. The drivers fill the variable.
 */
#include "pass/pass.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char **at;
    size_t count, room;
} patterns;

static void add_pattern(const char *start, size_t n)
{
    while (n && strchr(" \t\r", start[0]))
        start++, n--;
    while (n && strchr(" \t\r", start[n - 1]))
        n--;
    if (n == 0 || start[0] == '#')
        return;
    RESERVE(patterns);
    char *copy = zeroed(n + 1);
    memcpy(copy, start, n);
    patterns.at[patterns.count++] = copy;
}

static void add_list(const char *text, const char *separators)
{
    while (*text) {
        size_t n = strcspn(text, separators);
        add_pattern(text, n);
        text += n + (text[n] != 0);
    }
}

static void exclude_add_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "heddle-pass: cannot read '%s'\n", path);
        exit(1);
    }
    char line[4096];
    while (fgets(line, sizeof line, f))
        add_list(line, "\n");
    fclose(f);
}

void exclude_init(void)
{
    static bool done; /* several modules in one process: the environment is the same */
    const char *list = getenv("HEDDLE_EXCLUDE"), *file = getenv("HEDDLE_EXCLUDE_FILE");
    if (done)
        return;
    done = true;
    if (list)
        add_list(list, "\n;");
    if (file && *file)
        exclude_add_file(file);
}

static bool matches_file(const char *pattern, const char *file)
{
    const char *last = file ? strrchr(file, '/') : NULL;
    if (!file)
        return false;
    if (fnmatch(pattern, file, 0) == 0)
        return true;
    return last && !strchr(pattern, '/') && fnmatch(pattern, last + 1, 0) == 0;
}

static bool matches_name(const char *pattern, const char *linkage, const char *plain)
{
    return fnmatch(pattern, linkage, 0) == 0 || (plain && fnmatch(pattern, plain, 0) == 0);
}

static bool matches(const char *linkage, const char *plain, const char *file,
                    const char *module_file)
{
    for (size_t i = 0; i < patterns.count; i++) {
        const char *pattern = patterns.at[i];
        bool fun = starts_with(pattern, "fun:"), src = starts_with(pattern, "src:");
        pattern += fun || src ? 4 : 0;
        if (!src && matches_name(pattern, linkage, plain))
            return true;
        if (!fun && (matches_file(pattern, file) || matches_file(pattern, module_file)))
            return true;
    }
    return false;
}

static bool excludes_subprogram(struct pass *p, const char *linkage, LLVMMetadataRef sub)
{
    LLVMMetadataRef file = sub ? LLVMDIScopeGetFile(sub) : NULL;
    unsigned n;
    size_t length;
    return matches(linkage ? linkage : "", sub ? node_string(p, sub, 2) : NULL,
                   file ? LLVMDIFileGetFilename(file, &n) : NULL,
                   LLVMGetSourceFileName(p->module, &length));
}

bool is_excluded(struct pass *p, LLVMValueRef function)
{
    size_t n;
    LLVMMetadataRef sub = LLVMGetSubprogram(function);
    bool yes = function_has(function, "disable_sanitizer_instrumentation") ||
               excludes_subprogram(p, LLVMGetValueName2(function, &n), sub);
    if (sub)
        map_set(&p->excluded, sub, yes ? 2 : 1);
    return yes;
}

bool is_excluded_inline(struct pass *p, LLVMValueRef inst)
{
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(inst), outer;
    for (; at && (outer = LLVMDILocationGetInlinedAt(at)); at = outer) {
        LLVMMetadataRef scope = LLVMDILocationGetScope(at);
        uint64_t known = map_get(&p->excluded, scope);
        if (!known) {
            LLVMMetadataRef sub = subprogram_of(p, scope);
            known = sub ? map_get(&p->excluded, sub) : 1;
            if (!known)
                known = excludes_subprogram(p, node_string(p, sub, 3), sub) ? 2 : 1;
            map_set(&p->excluded, scope, known);
        }
        if (known == 2)
            return true;
    }
    return false;
}

/* Code that is not traced may write variables unseen: src/bitcode/own.c reads the mark. */
static void mark_untraced(struct pass *p)
{
    static const char mark[] = "heddle.untraced";
    bool found = LLVMGetFirstGlobalIFunc(p->module) != NULL; /* resolvers come before all */
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
        found |= !LLVMIsDeclaration(f) && (function_has(f, "naked") || is_excluded(p, f));
    if (found)
        LLVMGetOrInsertNamedMetadata(p->module, mark, strlen(mark));
}

/* Inlined, or with arguments that the compiler has taken away, their calls would say nothing. */
void keep_excluded(struct pass *p)
{
    mark_untraced(p);
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || function_has(f, "alwaysinline") || !is_excluded(p, f))
            continue;
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(p->context, attribute_kind("noinline"), 0));
        if (LLVMGetLinkage(f) == LLVMInternalLinkage)
            add_to_list(p, "llvm.compiler.used", "llvm.metadata", f);
    }
}
