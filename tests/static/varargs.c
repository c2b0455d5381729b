// Variable arguments: lists that are passed on, copied, given to functions of the C library, and
// structures among them.
// pair: text_w said
// pair: text_w copied
// pair: arg_w arg_r
// pair: struct_w struct_r
// pair: many_w many_r
// pair: count_w count_r
// pair: scan_w scanned
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char text[8] = "abc", out[64];
static int counted, scanned_to;
struct box {
    long a, b, c;
    int *p;
};
static int one, two, three;

__attribute__((noinline)) static int vsay(const char *format, va_list list)
{
    return vsnprintf(out, sizeof out, format, list); // [said]
}

__attribute__((noinline)) static void say(const char *format, ...)
{
    va_list list, copy;

    va_start(list, format);
    va_copy(copy, list);
    vsay(format, list);
    vfprintf(stdout, format, copy); // [copied]
    va_end(copy);
    va_end(list);
}

__attribute__((noinline)) static void take(int n, ...)
{
    va_list list;

    va_start(list, n);
    ++*va_arg(list, int *); // [arg_r]
    struct box b = va_arg(list, struct box);
    ++*b.p; // [struct_r]
    for (int i = 0; i < n; i++)
        ++*va_arg(list, int *); // [many_r]
    va_end(list);
}

__attribute__((noinline)) static void scan(const char *from, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsscanf(from, format, list); // [scanned]
    va_end(list);
}

static void *run(void *arg)
{
    struct box b = { .p = &two };

    say("%s", text);
    take(7, &one, b, &three, &three, &three, &three, &three, &three, &three);
    printf("a%n\n", &counted); // [count_r]
    scan("7", "%d", &scanned_to);
    return arg;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, 0, run, 0);
    text[1] = 'x';  // [text_w]
    one = 1;        // [arg_w]
    two = 1;        // [struct_w]
    three = 1;      // [many_w]
    counted = 1;    // [count_w]
    scanned_to = 1; // [scan_w]
    pthread_join(t, 0);
    return 0;
}
