// strerror_r writes the text of an unknown error into the buffer; both kinds of it do.
// race: gnu_write gnu_read
// race: posix_write posix_read
#include "prog.h"

char gnu[64], posix[64];
int __xpg_strerror_r(int error, char *buffer, size_t n);

THREAD(writer)
{
    strerror_r(123456, gnu, sizeof gnu);           // [gnu_write]
    __xpg_strerror_r(ENOENT, posix, sizeof posix); // [posix_write]
    return NULL;
}

THREAD(reader)
{
    USE(gnu[0]);   // [gnu_read]
    USE(posix[0]); // [posix_read]
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
