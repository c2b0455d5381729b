/* completion.c - heddle completion: scripts that complete commands and options in a shell
 *
 * Made from the table of commands, so they never lag behind it. An option that
 * takes one of several words offers them, other values and arguments are files.
 */
#include "cmd/commands.h"
#include "cmd/common.h"

#include <string.h>

/* ---- bash ---- */

static void bash_words(const struct command *c)
{
    for (const struct option_def *d = c->options; d->name; d++)
        printf("%s--%s", d == c->options ? "" : " ", d->name);
}

static void bash_choices(const char *words)
{
    for (; *words; words++)
        putchar(*words == '|' ? ' ' : *words);
}

static void bash_values(const struct command *c)
{
    for (const struct option_def *d = c->options; d->name; d++)
        if (d->kind == KIND_CHOICE) {
            printf("        %s--%s) words='", c->name, d->name);
            bash_choices(d->argument);
            puts("' ;;");
        }
}

static void print_bash(void)
{
    puts("# bash completion for heddle: source it, or install it as\n"
         "# share/bash-completion/completions/heddle\n"
         "_heddle()\n{\n"
         "    local words='' command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]}\n"
         "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "    [ \"$current\" = = ] && current=\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        words='", stdout);
    for (const struct command *c = commands; c->name; c++)
        printf("%s%s", c == commands ? "" : " ", c->name);
    puts("'\n    else\n        case $command$before in");
    for (const struct command *c = commands; c->name; c++)
        bash_values(c);
    puts("        esac\n        if [ -z \"$words\" ]; then\n            case $command$current in");
    for (const struct command *c = commands; c->name; c++) {
        printf("            %s-*) words='", c->name);
        bash_words(c);
        puts("' ;;");
    }
    puts("            esac\n        fi\n    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _heddle heddle");
}

/* ---- zsh ---- */

/* Within single quotes and brackets. */
static void zsh_text(const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

static void zsh_option(const struct option_def *d)
{
    printf("        '%s--%s%s[", d->kind == KIND_LIST ? "*" : "", d->name,
           d->kind == KIND_FLAG ? "" : "=");
    zsh_text(d->help);
    putchar(']');
    if (d->kind == KIND_CHOICE) {
        fputs(":value:(", stdout);
        bash_choices(d->argument);
        putchar(')');
    } else if (d->kind != KIND_FLAG) {
        printf(":%s:_files", d->kind == KIND_NUMBER ? "number" : "value");
    }
    puts("' \\");
}

static void print_zsh(void)
{
    puts("#compdef heddle\n"
         "# zsh completion for heddle: put it into a folder of $fpath as _heddle\n"
         "_heddle()\n{\n    local -a list\n    if (( CURRENT == 2 )); then\n        list=(");
    for (const struct command *c = commands; c->name; c++) {
        printf("            '%s:", c->name);
        zsh_text(c->summary);
        puts("'");
    }
    puts("        )\n        _describe command list\n        return\n    fi\n    case ${words[2]} "
         "in");
    for (const struct command *c = commands; c->name; c++) {
        printf("    %s)\n        _arguments \\\n", c->name);
        for (const struct option_def *d = c->options; d->name; d++)
            zsh_option(d);
        puts("        '*:file:_files'\n        ;;");
    }
    puts("    esac\n}\n_heddle \"$@\"");
}

/* ---- fish ---- */

static void fish_text(const char *s)
{
    putchar('\'');
    for (; *s; s++)
        printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
    putchar('\'');
}

static void fish_option(const struct command *c, const struct option_def *d)
{
    printf("complete -c heddle -n '__fish_seen_subcommand_from %s' -l %s", c->name, d->name);
    if (d->letter)
        printf(" -s %c", d->letter);
    if (d->kind == KIND_CHOICE) {
        fputs(" -x -a '", stdout);
        bash_choices(d->argument);
        putchar('\'');
    } else if (d->kind != KIND_FLAG) {
        fputs(" -r", stdout);
    }
    fputs(" -d ", stdout);
    fish_text(d->help);
    putchar('\n');
}

static void print_fish(void)
{
    puts("# fish completion for heddle: put it into completions/heddle.fish");
    for (const struct command *c = commands; c->name; c++) {
        printf("complete -c heddle -n __fish_use_subcommand -f -a %s -d ", c->name);
        fish_text(c->summary);
        putchar('\n');
        for (const struct option_def *d = c->options; d->name; d++)
            fish_option(c, d);
    }
}

int cmd_completion(const struct options *o)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        if (strcmp(o->arguments[0], shells[i].shell) == 0) {
            shells[i].print();
            return EXIT_NOTHING;
        }
    return usage_error(o->command, "there is completion for bash, zsh and fish, not for '%s'",
                       o->arguments[0]);
}
