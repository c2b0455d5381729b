/* say.h - what the programs tell about themselves: say.c is never traced */
#ifndef SAY_H
#define SAY_H

#ifdef __cplusplus
extern "C" {
#endif
/* An access that was just made. */
void say_read(const volatile void *address, unsigned bytes, unsigned long long value);
void say_write(const volatile void *address, unsigned bytes, unsigned long long value);
/* A line of text: KEY NUMBER */
void say(const char *key, unsigned long long number);
/* Calls f(arg); gives a pointer to the trace, touches nothing behind it. */
void untraced_call(void (*f)(void *), void *arg);
long untraced_pure(long a, const void *p, void *q);
#ifdef __cplusplus
}
#endif

#endif
