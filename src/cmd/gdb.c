/* gdb.c - heddle gdb: breakpoints at both accesses of a race
 *
 * In non-stop mode a thread that meets its breakpoint waits there while the
 * others run on: when two threads wait, one at each access, the race is there
 * to be looked at.
 */
#include "cmd/commands.h"
#include "cmd/noise.h"
#include "report/phrase.h"

static void print_breakpoint(FILE *out, const char *label, const struct side *s)
{
    struct buf b = { 0 };
    struct file_place p = file_place_of(side_place(s));

    phrase_side(&b, s);
    fprintf(out, "\n# %s: %s\n", label, b.data);
    if (p.file)
        fprintf(out, "break %.*s:%u\n", (int)p.file_len, p.file, p.line);
    else if (s->function)
        fprintf(out, "break %s\n", s->symbol ? s->symbol : s->function);
    else
        fprintf(out, "# no file and no function is known\n");
    if (p.file || s->function)
        fprintf(out,
                "commands\n  silent\n  echo heddle: %s access\\n\n  thread\n  backtrace 8\nend\n",
                label);
    buf_release(&b);
}

static int write_script(const struct finding *r, const struct options *o)
{
    struct outfile out;
    struct buf b = { 0 };
    int code = outfile_open(&out, o->texts[OPT_OUTPUT], stdout);

    if (code)
        return code;
    phrase_race(&b, r);
    fprintf(
        out.file,
        "# race %s\n# %s\n"
        "# gdb -x THIS --args PROG ARGS...: then 'run'. A thread that reaches a breakpoint waits\n"
        "# there, the others run on: 'info threads' shows when one waits at each access.\n"
        "set pagination off\nset non-stop on\nset breakpoint pending on\n",
        r->id, b.data);
    print_breakpoint(out.file, "first", &r->sides[0]);
    print_breakpoint(out.file, "second", &r->sides[1]);
    buf_release(&b);
    return outfile_close(&out, true);
}

int cmd_gdb(const struct options *o)
{
    struct findings f = { 0 };
    struct error err;
    size_t found = SIZE_MAX;
    int code = read_result_file(o->arguments[0], &f);

    if (code == 0) {
        found = findings_find(&f, o->arguments[1], &err);
        if (found == SIZE_MAX)
            code = bad_input("%s", err.text);
        else if (found >= f.count)
            code = bad_input("'%s' is a deadlock, not a race", o->arguments[1]);
        else
            code = write_script(&f.races[found], o);
    }
    findings_release(&f);
    return code;
}
