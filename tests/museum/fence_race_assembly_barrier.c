// A pointer is published by plain stores with barriers in inline assembly between them.
// issue: https://github.com/wiredtiger/wiredtiger/pull/10718
// tool: ThreadSanitizer
// there: false alarm; as its users saw it: the barriers of the project are assembly, which is
//   not followed, and were to become fences for the tool
// verdict: race; both accesses of `published` are plain, and a barrier makes no access atomic
//   (C11 5.1.2.4p25)
// race: store load
// may: content use
#include "prog.h"

int content, *volatile published;
int stored;

THREAD(writer)
{
    content = 5; // [content]
    __asm__ volatile("mfence" ::: "memory");
    published = &content; // [store]
    tell(&stored);
    return NULL;
}

THREAD(reader)
{
    await(&stored);
    int *seen = published; // [load]
    __asm__ volatile("mfence" ::: "memory");
    USE(*seen); // [use]
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
