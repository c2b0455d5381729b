/* driver.c - heddle-cc and heddle-c++: the compiler with our plugin and runtime
 *
 * The user's arguments go through unchanged and in order; ours are put around them. What the
 * command will do (compile, link what) is found out from the arguments, response files included.
 * The plugin, the runtime's libraries and their lists lie beside the driver in a build tree, in
 * lib/heddle or lib/ARCHITECTURE/heddle beside its bin/ when installed.
 *
 * gcc as backend: objects are compiled as for ThreadSanitizer and linked with our runtime; the
 * flag goes to the compiler proper through a specs file, so that gcc does not link libtsan.
 */
#include <glob.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/args.h"
#include "driver/compiler.h"

#ifdef HEDDLE_DRIVER_CXX
static const char *const self = "heddle-c++", *const compiler = "clang++-19";
static const char *const backend_variable = "HEDDLE_CXX_BACKEND";
#else
static const char *const self = "heddle-cc", *const compiler = "clang-19";
static const char *const backend_variable = "HEDDLE_CC_BACKEND";
#endif

struct command {
    struct args given;            /* as the user wrote them, ours taken out */
    struct args expanded;         /* the same with response files read */
    bool inputs;                  /* there is something to work on */
    bool no_link;                 /* -c, -S, -E, -fsyntax-only ... */
    bool debug;                   /* a -g option was given */
    bool shared, is_static, bare; /* bare: -r, -nostdlib: no runtime */
    bool full;
    const char *foreign;  /* another machine than ours, as the user names it; or NULL */
    const char *language; /* behind the last -x, or NULL */
    bool no_calls;
    bool no_elimination;
    bool production;
    bool openmp;
    bool sanitizers; /* that have a malloc and threads of their own */
    char *excludes;  /* newline-separated patterns */
};

static const char help[] =
    "usage: %s [OPTION]... [COMPILER ARGUMENT]...\n"
    "Compiles and links with the compiler, adding what heddle needs to record the program.\n"
    "\n"
    "  --full               record values, branches and results of calls too\n"
    "  --production         accesses can be patched (heddle chase, caper); nothing is recorded\n"
    "  --no-calls           do not record calls of untraced code\n"
    "  --no-elimination     record accesses also where the compiler sees that they add no race\n"
    "  --exclude=PATTERN    do not trace: fun:GLOB, src:GLOB, or GLOB for either; repeatable\n"
    "  --exclude-file=FILE  patterns, one a line, # for comments\n"
    "  --heddle-help        this text\n"
    "\n"
    "Environment: HEDDLE_DISABLE=1 runs the plain compiler; HEDDLE_FULL=1,\n"
    "HEDDLE_PRODUCTION=1, HEDDLE_CALLS=0, HEDDLE_ELIMINATION=0, HEDDLE_EXCLUDE,\n"
    "HEDDLE_EXCLUDE_FILE as the options; %s names another compiler (a gcc compiles\n"
    "with -fsanitize=thread).\n";

static void driver_fail(const char *what, const char *subject)
{
    fprintf(stderr, "%s: %s '%s'\n", self, what, subject);
    exit(128);
}

static bool is(const char *s, const char *t)
{
    return strcmp(s, t) == 0;
}

static bool begins(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (is(s, *list))
            return true;
    return false;
}

/* ---- what is asked for ---- */

static void exclude(struct command *c, const char *patterns)
{
    c->excludes = format("%s%s\n", c->excludes, patterns);
}

static void exclude_file(struct command *c, const char *path)
{
    char *text = read_text(path);
    if (!text)
        driver_fail("cannot read", path);
    exclude(c, text);
}

static bool take_own_option(struct command *c, const char *s)
{
    if (is(s, "--heddle-help")) {
        printf(help, self, backend_variable);
        exit(0);
    }
    if (is(s, "--full"))
        c->full = true;
    else if (is(s, "--production"))
        c->production = true;
    else if (is(s, "--no-calls"))
        c->no_calls = true;
    else if (is(s, "--no-elimination"))
        c->no_elimination = true;
    else if (begins(s, "--exclude="))
        exclude(c, s + strlen("--exclude="));
    else if (begins(s, "--exclude-file="))
        exclude_file(c, s + strlen("--exclude-file="));
    else
        return is(s, "-fsanitize=thread"); /* what we do instead */
    return true;
}

static bool is_debug_option(const char *s)
{
    static const char *const exact[] = { "-g", "-g0", "-g1", "-g2", "-g3", "-gmlt", NULL };
    return is_one_of(s, exact) || begins(s, "-gdwarf") || begins(s, "-ggdb") ||
           begins(s, "-gline") || begins(s, "-glldb") || begins(s, "-gsce");
}

static bool takes_value(const char *s)
{
    static const char *const options[] = { "-o",
                                           "-x",
                                           "-I",
                                           "-D",
                                           "-U",
                                           "-L",
                                           "-T",
                                           "-u",
                                           "-z",
                                           "-e",
                                           "-F",
                                           "-A",
                                           "-include",
                                           "-imacros",
                                           "-isystem",
                                           "-iquote",
                                           "-idirafter",
                                           "-iprefix",
                                           "-iwithprefix",
                                           "-iwithprefixbefore",
                                           "-isysroot",
                                           "-include-pch",
                                           "--sysroot",
                                           "--param",
                                           "-Xlinker",
                                           "-Xclang",
                                           "-Xpreprocessor",
                                           "-Xassembler",
                                           "-mllvm",
                                           "-target",
                                           "-MF",
                                           "-MT",
                                           "-MQ",
                                           "-MJ",
                                           "-aux-info",
                                           "-arch",
                                           "-dumpdir",
                                           "-dumpbase",
                                           "-wrapper",
                                           "-rpath",
                                           "-soname",
                                           "-h",
                                           "-fplugin-arg",
                                           "-specs",
                                           "-B",
                                           "-framework",
                                           "--serialize-diagnostics",
                                           "-ivfsoverlay",
                                           "-iframework",
                                           "-Xarch_host",
                                           NULL };
    return is_one_of(s, options);
}

static bool is_sanitizer(const char *s)
{
    return begins(s, "-fsanitize=") && (strstr(s, "address") || strstr(s, "memory") ||
                                        strstr(s, "leak") || strstr(s, "thread"));
}

static void note_option(struct command *c, const char *s)
{
    static const char *const no_link[] = { "-c",         "-S",           "-E",
                                           "-M",         "-MM",          "-fsyntax-only",
                                           "--analyze",  "--preprocess", "--compile",
                                           "--assemble", "-emit-ast",    "--precompile",
                                           NULL };
    static const char *const bare[] = { "-r", "-nostdlib", "-nodefaultlibs", NULL };
    c->no_link |= is_one_of(s, no_link);
    c->bare |= is_one_of(s, bare);
    c->debug |= is_debug_option(s);
    c->sanitizers |= is_sanitizer(s);
    c->shared |= is(s, "-shared") || is(s, "--shared") || is(s, "-dynamiclib");
    c->openmp |= is(s, "-fopenmp") || is(s, "-fopenacc") || begins(s, "-ftree-parallelize-loops");
    c->is_static |= is(s, "-static") || is(s, "-static-pie") || is(s, "--static");
    c->inputs |= s[0] != '-' || is(s, "-") || begins(s, "-l");
    c->no_link |= s[0] != '-' && !c->language && is_header(s);
}

/* The last of these counts. */
static void note_machine(struct command *c, const char *s, const char *value)
{
    const char *target = begins(s, "--target=") ? s + strlen("--target=")
                         : is(s, "-target")     ? value
                                                : NULL;
    if (is(s, "-m32") || is(s, "-mx32") || is(s, "-m16"))
        c->foreign = s;
    else if (is(s, "-m64"))
        c->foreign = NULL;
    else if (target)
        c->foreign = target_is_ours(target) ? NULL : target;
}

/* A header is compiled, not linked, unless another language is said. */
static void note_language(struct command *c, const char *s, const char *value)
{
    const char *language = is(s, "-x") ? value : begins(s, "-x") ? s + 2 : NULL;
    if (!language)
        return;
    c->language = is(language, "none") ? NULL : language;
    c->no_link |= is_header_language(language);
}

static void note_options(struct command *c, const struct args *all, size_t first)
{
    for (size_t i = first; i < all->count; i++) {
        const char *s = all->at[i], *next = i + 1 < all->count ? all->at[i + 1] : "";
        note_machine(c, s, next);
        note_language(c, s, next);
        note_option(c, s);
        i += takes_value(s);
    }
}

static void read_arguments(struct command *c, char **argv)
{
    bool inner = false; /* an option of ours came out of a response file */
    for (; *argv; argv++) {
        struct args part = { 0 };
        args_expand(&part, *argv);
        for (size_t i = 0; i < part.count; i++) {
            if (!take_own_option(c, part.at[i]))
                args_add(&c->expanded, part.at[i]);
            else if (argv[0][0] == '@')
                inner = true;
            else
                part.at[i] = NULL;
        }
        if (part.count > 0 && (argv[0][0] == '@' || part.at[0]))
            args_add(&c->given, *argv);
    }
    if (inner)
        c->given = c->expanded;
    note_options(c, &c->expanded, 0);
}

static bool is_set(const char *variable)
{
    const char *s = getenv(variable);
    return s && *s && !is(s, "0");
}

static void read_environment(struct command *c)
{
    const char *list = getenv("HEDDLE_EXCLUDE"), *file = getenv("HEDDLE_EXCLUDE_FILE");
    c->excludes = format("%s", "");
    c->full = is_set("HEDDLE_FULL");
    c->production = is_set("HEDDLE_PRODUCTION");
    c->no_calls = getenv("HEDDLE_CALLS") && is(getenv("HEDDLE_CALLS"), "0");
    c->no_elimination = getenv("HEDDLE_ELIMINATION") && is(getenv("HEDDLE_ELIMINATION"), "0");
    if (list && *list)
        exclude(c, list);
    if (file && *file)
        exclude_file(c, file);
}

/* ---- where our parts are ---- */

/* NULL: they are not there. */
static char *find_library_directory(void)
{
    char path[4096], *found = NULL;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0)
        driver_fail("cannot find", "/proc/self/exe");
    path[n] = 0;
    const char *bin = dirname(path);
    static const char *const places[] = { "%s/heddle-pass.so", "%s/../lib/heddle/heddle-pass.so",
                                          "%s/../lib/*/heddle/heddle-pass.so",
                                          "%s/../lib64/heddle/heddle-pass.so" };
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        glob_t g;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (glob(format(places[i], bin), 0, NULL, &g) == 0)
            found = realpath(dirname(g.gl_pathv[0]), NULL);
#pragma GCC diagnostic pop
    }
    return found;
}

/* ---- our arguments ---- */

static uint64_t config_hash(const struct command *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + c->full + 2u * c->no_calls + 4u * c->production +
                 8u * c->no_elimination;
    for (const char *s = c->excludes; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

static void add_compile(const struct command *c, const char *dir, bool gcc, struct args *out)
{
    if (!gcc)
        args_add(out, "--start-no-unused-arguments");
    args_add(out, "-D__HEDDLE__=1");
    if (gcc) {
        args_addf(out, "-specs=%s/heddle-gcc.specs", dir);
        if (!c->debug)
            args_add(out, "-g1");
        return;
    }
    if (!c->debug) {
        args_add(out, "-gline-tables-only");
        args_add(out, "-fdebug-info-for-profiling"); /* linkage names of inlined functions */
    }
    if (!c->production)
        args_addf(out, "-isystem%s/include/libstdc++", dir);
    /* clang ignores a seed, but a ccache behind us sees that the result is another one */
    args_addf(out, "-frandom-seed=heddle-%llx", (unsigned long long)config_hash(c));
    args_addf(out, "-fpass-plugin=%s/heddle-pass.so", dir);
    args_add(out, "--end-no-unused-arguments");
}

/* For stacks of sightings; behind what the user says of them. */
static void add_unwind_tables(struct args *out)
{
    args_add(out, "--start-no-unused-arguments");
    args_add(out, "-fasynchronous-unwind-tables");
    args_add(out, "--end-no-unused-arguments");
}

static void add_link(const struct command *c, const char *dir, bool gcc, struct args *out)
{
    if (c->shared || c->bare)
        return;
    const char *kind = c->is_static ? "-static" : "";
    /* as linker arguments: a -x of the user's does not apply to them */
    args_addf(out, "-Wl,--whole-archive,%s/libheddle-rt%s.a", dir, kind);
    if (gcc && !c->is_static)
        args_addf(out, "-Wl,%s/libheddle-rt-libc.a", dir);
    args_add(out, "-Wl,--no-whole-archive");
    if (gcc && c->openmp && !c->is_static) /* our functions of its names satisfy the program */
        args_add(out, "-Wl,--push-state,--no-as-needed,-lgomp,--pop-state");
    if (c->is_static) {
        args_addf(out, "-Wl,%s/libheddle-rt-static-libc.a", dir);
        args_addf(out, "-Wl,@%s/heddle-rt.wrap", dir);
    } else
        args_addf(out, "-Wl,--dynamic-list=%s/heddle-rt.syms", dir);
    args_split(out, "-ldl -lpthread -lm");
}

/* A shared library gets the runtime from the program: its symbols may stay undefined. */
static bool demands_definitions(const char *s)
{
    static const char *const forms[] = { "-Wl,-z,defs", "-Wl,--no-undefined", "-Wl,-no-undefined",
                                         "-Wl,-zdefs", NULL };
    return is_one_of(s, forms);
}

static char *without_definitions(const char *s)
{
    static const char *const parts[] = { ",-z,defs", ",--no-undefined", ",-zdefs" };
    char *copy = format("%s", s);
    for (size_t i = 0; begins(s, "-Wl,") && i < sizeof parts / sizeof *parts; i++)
        for (char *at; (at = strstr(copy, parts[i])) &&
                       (at[strlen(parts[i])] == 0 || at[strlen(parts[i])] == ',');)
            memmove(at, at + strlen(parts[i]), strlen(at + strlen(parts[i])) + 1);
    return copy;
}

static void add_users(const struct command *c, struct args *out)
{
    for (size_t i = 0; i < c->given.count; i++) {
        char *s = c->given.at[i], *next = c->given.at[i + 1];
        if (!c->shared) {
            args_add(out, s);
        } else if (is(s, "-z") && next && is(next, "defs")) {
            i++;
        } else if (is(s, "-Xlinker") && next &&
                   (is(next, "--no-undefined") || is(next, "-zdefs"))) {
            i++;
        } else if (!demands_definitions(s)) {
            args_add(out, without_definitions(s));
        }
    }
}

/* Their malloc, pthread_create ... would stand before the runtime's, which then sees neither memory
 * nor threads: false alarms. Others (undefined) stay. */
static void drop_sanitizers(const struct command *c, bool gcc, struct args *out)
{
    if (!c->sanitizers)
        return;
    args_add(out, gcc ? "-fno-sanitize=address,hwaddress,leak"
                      : "-fno-sanitize=address,hwaddress,memory,leak,thread");
    if (!c->no_link)
        fprintf(stderr,
                "%s: warning: AddressSanitizer and its like are left out: they would hide "
                "memory and threads from the recording\n",
                self);
}

static void export_settings(const struct command *c)
{
    if (c->full)
        setenv("HEDDLE_FULL", "1", 1);
    if (c->production)
        setenv("HEDDLE_PRODUCTION", "1", 1);
    else
        unsetenv("HEDDLE_PRODUCTION");
    if (c->no_calls)
        setenv("HEDDLE_CALLS", "0", 1);
    if (c->no_elimination)
        setenv("HEDDLE_ELIMINATION", "0", 1);
    if (*c->excludes)
        setenv("HEDDLE_EXCLUDE", c->excludes, 1);
    unsetenv("HEDDLE_EXCLUDE_FILE"); /* in the list now */
}

/* <heddle.h>, wherever heddle is installed; behind all folders of the command line. */
static void export_header(const char *dir)
{
    static const char *const variables[] = { "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH" };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *old = getenv(variables[i]);
        bool is_empty = !old || !*old;
        setenv(variables[i],
               format("%s%s%s/include", is_empty ? "" : old, is_empty ? "" : ":", dir), 1);
    }
}

static void add_ours(const struct command *c, const char *dir, bool gcc, struct args *out)
{
    add_compile(c, dir, gcc, out);
    add_users(c, out);
    drop_sanitizers(c, gcc, out);
    if (c->production)
        add_unwind_tables(out);
    if (!c->no_link)
        add_link(c, dir, gcc, out);
    export_settings(c);
}

static void driver_refuse(const struct command *c, const struct backend *b, const char *name)
{
    if (b->clang && b->clang != BACKEND_CLANG) {
        fprintf(stderr, "%s: '%s' is clang %d: heddle's plugin needs clang %d\n", self, name,
                b->clang, BACKEND_CLANG);
        exit(128);
    }
    if (c->production && b->gcc)
        driver_fail("production builds need clang, not", name);
    if (c->production && c->full)
        driver_fail("a production build records nothing: take away", "--full");
}

/* Nothing that could be recorded comes of it: a build that mixes machines goes on. */
static void warn_foreign(const struct command *c)
{
    fprintf(stderr,
            "%s: warning: nothing is recorded of code for '%s': heddle is for x86-64 Linux with "
            "glibc\n",
            self, c->foreign);
}

int main(int argc, char **argv)
{
    struct command c = { 0 };
    struct args out = { 0 };
    const char *chosen = getenv(backend_variable);
    bool is_chosen = chosen && *chosen;
    args_split(&out, is_chosen ? chosen : compiler);
    if (out.count == 0)
        driver_fail("no compiler in", backend_variable);
    bool disabled = is_set("HEDDLE_DISABLE");
    struct backend b = backend_look(&out, is_chosen && !disabled);
    if (b.target && !target_is_ours(b.target))
        c.foreign = b.target;
    note_options(&c, &out, 1);
    c.inputs = false; /* "ccache clang-19" is none */
    read_environment(&c);
    read_arguments(&c, argv + (argc > 0));
    if (!disabled && !c.foreign)
        driver_refuse(&c, &b, out.at[out.count - 1]);
    if (!disabled && c.foreign && c.inputs)
        warn_foreign(&c);
    bool plain = disabled || !c.inputs || c.foreign;
    const char *dir = c.inputs ? find_library_directory() : NULL;
    if (!dir && !plain)
        driver_fail("cannot find the plugin for", self);
    if (dir)
        export_header(dir);
    if (plain)
        for (size_t i = 0; i < c.given.count; i++)
            args_add(&out, c.given.at[i]);
    else
        add_ours(&c, dir, b.gcc, &out);
    execvp(out.at[0], out.at);
    perror(format("%s: cannot run '%s'", self, out.at[0]));
    return 128;
}
