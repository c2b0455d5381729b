/* untraced_odd.c - a library that is not traced and synchronises in ways that are easily missed */
#define _GNU_SOURCE
#include "untraced_odd.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEEP = 9, TABLE = 10000, STACK = 64 << 10 };

struct odd_flag {
    int set;
};

struct odd_list {
    struct odd_list *next;
    struct odd_flag *flag;
};

static void raise_flag(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void await_flag(const int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void must(int ok)
{
    if (!ok)
        abort();
}

/* ---- far from what callers pass ---- */

struct odd_flag *odd_flag(void)
{
    return calloc(1, sizeof(struct odd_flag));
}

struct odd_list *odd_list(void)
{
    struct odd_list *l = NULL;

    for (int i = 0; i < DEEP; i++) {
        struct odd_list *first = calloc(1, sizeof(*first));
        first->next = l;
        l = first;
    }
    return l;
}

static struct odd_list *last_of(struct odd_list *l)
{
    while (l->next)
        l = l->next;
    return l;
}

void odd_list_append(struct odd_list *l, struct odd_flag *f)
{
    last_of(l)->flag = f;
}

void odd_list_wait(struct odd_list *l)
{
    await_flag(&last_of(l)->flag->set);
}

void **odd_table(void)
{
    return calloc(TABLE, sizeof(void *));
}

void odd_table_put(void **table, int i, struct odd_flag *f)
{
    table[i] = f;
}

void odd_table_wait(void **table, int i)
{
    await_flag(&((struct odd_flag *)table[i])->set);
}

void odd_flag_set(struct odd_flag *f)
{
    raise_flag(&f->set);
}

/* ---- disguised ---- */

static uintptr_t mask = 0x5a5a00ff00ff5a5a;

unsigned long odd_open(void)
{
    return (uintptr_t)odd_flag() ^ mask;
}

static int *shown(unsigned long handle)
{
    return &((struct odd_flag *)(handle ^ mask))->set;
}

void odd_set(unsigned long handle)
{
    raise_flag(shown(handle));
}

void odd_wait(unsigned long handle)
{
    await_flag(shown(handle));
}

/* The same by functions that stand behind their callers, one of them known to other files. */
static int *hidden(unsigned long handle);
int *odd_shown(unsigned long handle);

void odd_hidden_set(unsigned long handle)
{
    raise_flag(hidden(handle));
}

void odd_hidden_wait(unsigned long handle)
{
    await_flag(hidden(handle));
}

void odd_shown_set(unsigned long handle)
{
    raise_flag(odd_shown(handle));
}

void odd_shown_wait(unsigned long handle)
{
    await_flag(odd_shown(handle));
}

__attribute__((noinline)) static int *hidden(unsigned long handle)
{
    return odd_shown(handle);
}

__attribute__((noinline)) int *odd_shown(unsigned long handle)
{
    return (int *)(handle ^ mask);
}

/* ---- chosen ---- */

static int chosen;

static void chosen_set(void)
{
    raise_flag(&chosen);
}

static void chosen_wait(void)
{
    await_flag(&chosen);
}

static void (*choose_set(void))(void)
{
    return chosen_set;
}

static void (*choose_wait(void))(void)
{
    return chosen_wait;
}

void odd_chosen_set(void) __attribute__((ifunc("choose_set")));
void odd_chosen_wait(void) __attribute__((ifunc("choose_wait")));

/* ---- a child process ---- */

static int there[2], back[2];
static pid_t child;

void odd_child(void)
{
    char c;

    must(pipe(there) == 0 && pipe(back) == 0);
    child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1);
}

void odd_child_send(void)
{
    must(write(there[1], "x", 1) == 1);
}

void odd_child_receive(void)
{
    char c;

    must(read(back[0], &c, 1) == 1);
    waitpid(child, NULL, 0);
}

/* ---- two addresses ---- */

static int *one, *other;

void odd_map(void)
{
    int fd = memfd_create("odd", 0);

    must(fd >= 0 && ftruncate(fd, 4096) == 0);
    one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(one != MAP_FAILED && other != MAP_FAILED);
    close(fd);
}

void odd_map_set(void)
{
    raise_flag(one);
}

void odd_map_wait(void)
{
    await_flag(other);
}

/* ---- a thread that nobody sees ---- */

static int in, out;

static int hand_on(void *arg)
{
    await_flag(&in);
    raise_flag(&out);
    return arg != NULL;
}

void odd_clone(void)
{
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    char *stack = malloc(STACK);

    must(stack && clone(hand_on, stack + STACK, flags, NULL) > 0);
}

void odd_clone_set(void)
{
    raise_flag(&in);
}

void odd_clone_wait(void)
{
    await_flag(&out);
}
