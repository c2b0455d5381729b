/* launch.h - start a program, stand aside while it runs, say how it ended
 *
 *     launch_fork(&l, argv)         the child exists and waits; its pid is known
 *     launch_go(&l, changes)        it becomes the program
 *     launch_wait(&l)               until it ends
 *
 * The program has our standard streams, process group and terminal; nothing
 * of ours is open in it, and signals are as we found them. While it runs we
 * survive what the terminal sends (Ctrl-C reaches the program, which decides)
 * and pass on what is sent to us alone, also what came before the program had begun.
 *
 * Concurrency: one launch at a time.
 */
#ifndef HEDDLE_CMD_LAUNCH_H
#define HEDDLE_CMD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Exit codes of programs that do not start, as shells have them. */
enum { EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

struct launch {
    char *const *argv; /* borrowed; ends with NULL */
    pid_t pid;
    int gate; /* the child waits for the other end */
    int news; /* and says here that exec failed */
};

/* 0, or the exit code after a message. */
int launch_fork(struct launch *l, char *const argv[]);
/* Let it go, with these changes to its environment ("NAME=VALUE", ends with NULL). 0, or the
 * exit code after a message; then it is gone. */
int launch_go(struct launch *l, char *const changes[]);
/* The child will not be needed. */
void launch_cancel(struct launch *l);
/* The program's exit code, 128 + the signal where one ended it. */
int launch_wait(struct launch *l);

/* Called first in main(): what a program that we start shall find as we did. */
void launch_keep_inherited(void);

/* May we open as many files as we need to run a program, or only to start one? If not: become the
 * program, after a message. Returns the exit code where that does not work. */
bool launch_has_room(void);
bool launch_can_start(void);
int launch_without_us(char *const argv[]);

/* The file that would be executed, by PATH as exec has it; owned by the caller, or NULL. */
char *program_find(const char *name);

/* What a file is, as far as recording it is concerned (launch_elf.c). */
enum program_kind {
    PROGRAM_OTHER,     /* a script, no ELF file of this machine, unreadable */
    PROGRAM_PLAIN,     /* dynamically linked, without our runtime */
    PROGRAM_STATIC,    /* statically linked: nothing can be preloaded */
    PROGRAM_RECORDED,  /* linked by heddle-cc */
    PROGRAM_PRODUCTION /* by heddle-cc --production: it has sites, but nothing that records */
};
enum program_kind program_look(const char *path);
/* What would be executed under this name. */
enum program_kind program_kind_of(const char *name);
/* A program that heddle-cc did not link may load libraries that it compiled: they need the
 * runtime before anything else of the program runs. A change of its environment, or NULL where it
 * needs none; owned by the caller. */
char *launch_preload(enum program_kind kind);

#endif
