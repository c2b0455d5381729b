/* signals.c - what a program does with the signals it is sent */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared; /* a pair of sites, one after the other */

static void *touch(void *unused)
{
    shared++;
    return unused;
}

static void say(int sig)
{
    char text[] = "got 00\n";

    text[4] = (char)('0' + sig / 10);
    text[5] = (char)('0' + sig % 10);
    (void)!write(1, text, sizeof(text) - 1);
}

static void say_and_end(int sig)
{
    say(sig);
    _exit(5);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t t;

    if (strcmp(how, "handles") == 0) {
        signal(SIGUSR1, say);
        signal(SIGUSR2, say);
        signal(SIGHUP, say);
        signal(SIGINT, say);
        signal(SIGQUIT, say);
        signal(SIGTERM, say_and_end);
    } else if (strcmp(how, "ignores") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGUSR1, say_and_end);
    }
    pthread_create(&t, NULL, touch, NULL);
    pthread_join(t, NULL);
    (void)!write(1, "ready\n", 6);
    for (;;)
        pause();
}
