/* args.h - a list of command line arguments, for the compiler drivers */
#ifndef HEDDLE_DRIVER_ARGS_H
#define HEDDLE_DRIVER_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct args {
    char **at; /* NULL behind the last */
    size_t count, room;
};

void args_add(struct args *a, const char *s);
void args_addf(struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void args_split(struct args *a, const char *words); /* at blanks */
/* Adds an argument; @FILE adds the file's arguments, quoted as gcc and clang read them. */
void args_expand(struct args *a, const char *s);
char *read_text(const char *path); /* NULL: cannot */
char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
