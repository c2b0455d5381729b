/* libc_nss.c - lookups in the system's data bases, whose result all callers share
 *
 * As libc_hidden.c; apart from it because a static link that needs none of
 * these is better off without them (they want shared libraries at run time).
 */
#include "runtime/libc/libc_hidden.h"

STATE(passwd_result);
STATE(group_result);
STATE(hostent_result);
STATE(servent_result);
STATE(protoent_result);
STATE(ttyname_result);
STATE(ptsname_result);
STATE(getlogin_result);

#define ENTRY_BY_NAME(type, name, state)                                                           \
    LIBC(struct type *, name, (const char *key), (key))                                            \
    {                                                                                              \
        struct type *r;                                                                            \
                                                                                                   \
        read_string(key, where);                                                                   \
        WRITES_STATE(state);                                                                       \
        r = CALL(name)(key);                                                                       \
        write_if(r, sizeof(*r), where);                                                            \
        return r;                                                                                  \
    }
#define ENTRY_BY_NUMBER(type, name, number, state)                                                 \
    LIBC(struct type *, name, (number key), (key))                                                 \
    {                                                                                              \
        struct type *r;                                                                            \
                                                                                                   \
        WRITES_STATE(state);                                                                       \
        r = CALL(name)(key);                                                                       \
        write_if(r, sizeof(*r), where);                                                            \
        return r;                                                                                  \
    }

ENTRY_BY_NAME(passwd, getpwnam, passwd_result)
ENTRY_BY_NUMBER(passwd, getpwuid, uid_t, passwd_result)
ENTRY_BY_NAME(group, getgrnam, group_result)
ENTRY_BY_NUMBER(group, getgrgid, gid_t, group_result)
ENTRY_BY_NAME(hostent, gethostbyname, hostent_result)
ENTRY_BY_NAME(protoent, getprotobyname, protoent_result)

LIBC(struct hostent *, gethostbyaddr, (const void *a, socklen_t bytes, int family),
     (a, bytes, family))
{
    struct hostent *r;

    rt_read(a, bytes, where);
    WRITES_STATE(hostent_result);
    r = CALL(gethostbyaddr)(a, bytes, family);
    write_if(r, sizeof(*r), where);
    return r;
}

LIBC(struct servent *, getservbyname, (const char *name, const char *protocol), (name, protocol))
{
    struct servent *r;

    read_string(name, where);
    read_string(protocol, where);
    WRITES_STATE(servent_result);
    r = CALL(getservbyname)(name, protocol);
    write_if(r, sizeof(*r), where);
    return r;
}

LIBC(char *, ttyname, (int fd), (fd))
{
    char *r;

    WRITES_STATE(ttyname_result);
    r = CALL(ttyname)(fd);
    write_string(r, where);
    return r;
}

LIBC(char *, ptsname, (int fd), (fd))
{
    char *r;

    WRITES_STATE(ptsname_result);
    r = CALL(ptsname)(fd);
    write_string(r, where);
    return r;
}

LIBC0(char *, getlogin)
{
    char *r;

    WRITES_STATE(getlogin_result);
    r = CALL(getlogin)();
    write_string(r, where);
    return r;
}

/* ---- addresses and names: results where the caller says ---- */

LIBC(int, inet_aton, (const char *text, struct in_addr *a), (text, a))
{
    int r;

    read_string(text, where);
    r = CALL(inet_aton)(text, a);
    if (r)
        rt_write(a, sizeof(*a), where);
    return r;
}

/* The list that it makes is its own memory until it is returned. */
LIBC(int, getaddrinfo,
     (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **list),
     (node, service, hints, list))
{
    int r;

    read_string(node, where);
    read_string(service, where);
    read_if(hints, sizeof(*hints), where);
    r = CALL(getaddrinfo)(node, service, hints, list);
    if (r == 0)
        rt_write(list, sizeof(*list), where);
    return r;
}

LIBC(int, getnameinfo,
     (const struct sockaddr *a, socklen_t bytes, char *host, socklen_t host_room, char *service,
      socklen_t service_room, int flags),
     (a, bytes, host, host_room, service, service_room, flags))
{
    int r;

    rt_read(a, bytes, where);
    r = CALL(getnameinfo)(a, bytes, host, host_room, service, service_room, flags);
    if (r == 0 && host_room)
        write_string(host, where);
    if (r == 0 && service_room)
        write_string(service, where);
    return r;
}
