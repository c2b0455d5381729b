/* untraced_relay.c - a library that is not traced and calls another one (untraced_state.c) */
#include "untraced_state.h"

void relay_set(void)
{
    state_set();
}

void relay_wait(void)
{
    state_wait();
}
