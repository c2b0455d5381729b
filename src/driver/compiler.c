/* compiler.c - the compiler behind a driver: whose it is, and for which machine it compiles
 *
 * gcc is known by its name, which has the machine in front ("aarch64-linux-gnu-gcc-12"). Any other
 * name (cc, a script) is asked for its version, once a command and only where the user chose it.
 */
#include "driver/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the compiler prints of itself, the first 4,000 bytes; "" where it cannot be run. */
static const char *version_text(const struct args *command)
{
    static char text[4001];
    struct args all = { 0 };
    size_t n = 0;
    int pipes[2];
    for (size_t i = 0; i < command->count; i++)
        args_add(&all, command->at[i]);
    args_add(&all, "--version");
    if (pipe(pipes) != 0)
        return "";
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        if (!freopen("/dev/null", "w", stderr))
            _exit(127);
        execvp(all.at[0], all.at);
        _exit(127);
    }
    close(pipes[1]);
    for (ssize_t r; n < sizeof text - 1 && (r = read(pipes[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)r;
    close(pipes[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    text[n] = 0;
    return text;
}

/* "gcc", "gcc-12" or "g++" at the end of a name, where it begins; NULL: none. */
static const char *gcc_in(const char *name)
{
    const char *found = NULL;
    for (const char *s = name; *s; s++) {
        bool starts = s == name || s[-1] == '-';
        if (starts && (strncmp(s, "gcc", 3) == 0 || strncmp(s, "g++", 3) == 0) &&
            (s[3] == 0 || s[3] == '-'))
            found = s;
    }
    return found;
}

struct backend backend_look(const struct args *command, bool ask)
{
    struct backend b = { 0 };
    for (size_t i = 0; i < command->count && !b.gcc; i++) { /* "ccache gcc -m64" */
        const char *word = command->at[i], *slash = strrchr(word, '/');
        const char *name = slash ? slash + 1 : word, *gcc = gcc_in(name);
        if (word[0] == '-' || !gcc)
            continue;
        b.gcc = true;
        if (gcc > name)
            b.target = format("%.*s", (int)(gcc - name - 1), name);
    }
    if (b.gcc || !ask)
        return b;
    const char *text = version_text(command), *clang = strstr(text, "clang version ");
    b.clang = clang ? atoi(clang + strlen("clang version ")) : 0;
    b.gcc = !clang && strstr(text, "Free Software Foundation");
    return b;
}

bool target_is_ours(const char *target)
{
    static const char *const others[] = { "musl", "android", "gnux32", "uclibc" };
    if (strncmp(target, "x86_64", 6) != 0 && strncmp(target, "amd64", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(target, others[i]))
            return false;
    return !strchr(target, '-') || strstr(target, "linux");
}

bool is_header(const char *file)
{
    static const char *const endings[] = {
        ".h", ".H", ".hh", ".hp", ".hpp", ".HPP", ".hxx", ".h++"
    };
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

bool is_header_language(const char *language)
{
    const char *end = strstr(language, "-header");
    return end && end[strlen("-header")] == 0;
}
