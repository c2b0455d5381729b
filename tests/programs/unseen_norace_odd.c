// Deep in a list, in a large table, by disguised pointers, by IFUNC, through a child process.
// library: untraced_odd.c untraced
// full: also
#include "prog.h"
#include "untraced_odd.h"

enum { FAR, LARGE, DISGUISED, HIDDEN, SHOWN, CHOSEN, CHILD, WAYS };

static int x[WAYS];
static struct odd_list *list;
static struct odd_flag *on_list, *on_table;
static void **table;
static unsigned long handle, handles[2];

static void give(int way)
{
    switch (way) {
    case FAR:
        odd_flag_set(on_list);
        break;
    case LARGE:
        odd_flag_set(on_table);
        break;
    case DISGUISED:
        odd_set(handle);
        break;
    case HIDDEN:
        odd_hidden_set(handles[0]);
        break;
    case SHOWN:
        odd_shown_set(handles[1]);
        break;
    case CHOSEN:
        odd_chosen_set();
        break;
    default:
        odd_child_send();
        break;
    }
}

static void take(int way)
{
    switch (way) {
    case FAR:
        odd_list_wait(list);
        break;
    case LARGE:
        odd_table_wait(table, 7777);
        break;
    case DISGUISED:
        odd_wait(handle);
        break;
    case HIDDEN:
        odd_hidden_wait(handles[0]);
        break;
    case SHOWN:
        odd_shown_wait(handles[1]);
        break;
    case CHOSEN:
        odd_chosen_wait();
        break;
    default:
        odd_child_receive();
        break;
    }
}

static void *first(void *way)
{
    x[(intptr_t)way] = 1;
    give((int)(intptr_t)way);
    return NULL;
}

static void *second(void *way)
{
    take((int)(intptr_t)way);
    x[(intptr_t)way] = 2;
    return NULL;
}

int main(void)
{
    list = odd_list();
    on_list = odd_flag();
    odd_list_append(list, on_list);
    table = odd_table();
    on_table = odd_flag();
    odd_table_put(table, 7777, on_table);
    handle = odd_open();
    handles[0] = odd_open();
    handles[1] = odd_open();
    odd_child();
    for (intptr_t way = 0; way < WAYS; way++) {
        pthread_t a = start(first, (void *)way), b = start(second, (void *)way);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        USE(x[way]);
    }
    return 0;
}
