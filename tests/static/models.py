#!/usr/bin/python3
"""Every function of the C library that the runtime models: what a run shows must be among the static pairs.

    models.py --build BUILDDIR SOURCE-DIRECTORY

One program is generated. For each function that abi/rt_libc.h gives a model a thread calls it with memory of its
own name, and main() reads and writes all of that memory at the same time. The races of a recorded run (hb) are
looked up, by line, among the pairs of `heddle static`. A function without a line in CALLS is an error, so that a new
model gets its test. TAP.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

# A, B, C: 512 bytes each that only this call and main() touch; they begin with the text "12 ab". P: a pointer to A, in memory
# of its own. L: a size_t. F: a file. What a function needs besides is here, in its line.
CALLS = {
    # memory and text
    "memcpy memmove memcmp bcmp mempcpy __mempcpy wmemcpy wmemmove": "{f}((void *)A, (void *)B, 16)",
    "memset memchr memrchr wmemset": "{f}((void *)A, 7, 16)",
    "rawmemchr strchr strrchr strchrnul index rindex": "{f}(A, 'a')",
    "memmem": "{f}(A, 16, B, 2)",
    "memccpy": "{f}(A, B, 'z', 16)",
    "explicit_bzero bzero": "{f}(A, 16)",
    "bcopy": "{f}(A, B, 16)",
    "wcslen": "{f}((wchar_t *)A)",
    "wcscpy": "{f}((wchar_t *)A, (wchar_t *)B)",
    "strlen puts atoi atol atoll atof perror strdup __strdup": "{f}(A)",
    "strnlen strndup": "{f}(A, 16)",
    "strcpy strcat strcmp strcasecmp strcoll strstr strcasestr strspn strcspn strpbrk stpcpy __stpcpy": "{f}(A, B)",
    "strncpy stpncpy strncat strncmp strncasecmp": "{f}(A, B, 4)",
    "strerror_r __xpg_strerror_r": "{f}(2, A, 64)",
    "strtok": "{f}(A, B)",
    "strtok_r __strtok_r": "{f}(A, B, (char **)C)",
    "strsep": "{f}(P, B)",
    "getsubopt": "{f}(P, (char *const *)Q, (char **)C)",
    # numbers
    "strtol strtoul strtoll strtoull strtoimax strtoumax": "{f}(A, (char **)B, 10)",
    "strtod strtof strtold": "{f}(A, (char **)B)",
    "rand_r": "{f}((unsigned *)A)",
    "qsort": "{f}(A, 8, 1, compare)",
    "qsort_r": "{f}(A, 8, 1, compare_r, B)",
    "frexp": "{f}(1.5, (int *)A)",
    "modf": "{f}(1.5, (double *)A)",
    # files
    "fread fread_unlocked": "rewind(F), {f}(A, 1, 16, F)",
    "fwrite fwrite_unlocked": "{f}(A, 1, 16, F)",
    "fgets fgets_unlocked": "rewind(F), {f}(A, 16, F)",
    "fputs fputs_unlocked": "{f}(A, F)",
    "getline": "{f}(P0, L, F)",
    "getdelim __getdelim": "{f}(P0, L, '\\n', F)",
    "fopen fopen64": "{f}(A, B)",
    "fgetc getc": "{f}(F)",
    "getchar": "{f}()",
    # formats
    "printf": "{f}(\"%s %.2s\\n\", A, B)",
    "fprintf": "{f}(F, \"%s%n\", A, (int *)B)",
    "dprintf": "{f}(fd, \"%s\", A)",
    "sprintf": "{f}(A, \"%s\", B)",
    "snprintf": "{f}(A, 16, \"%s\", B)",
    "asprintf": "{f}((char **)A, \"%s\", B)",
    "scanf": "{f}(\"%s\", A)",
    "fscanf": "rewind(F), {f}(F, \"%s\", A)",
    "sscanf __isoc99_sscanf": "{f}(A, \"%s %s\", B, C)",
    "vprintf": "list_{f}(\"%s\\n\", A)",
    "vfprintf vdprintf vsprintf vsnprintf vasprintf vscanf vfscanf vsscanf": "list_{f}(\"%s\", A)",
    # descriptors
    "read write": "{f}(fd, A, 16)",
    "pread pread64 pwrite pwrite64": "{f}(fd, A, 16, 0)",
    "readv writev": "{f}(fd, V, 2)",
    "preadv pwritev": "{f}(fd, V, 2, 0)",
    "pipe": "{f}((int *)A)",
    "pipe2": "{f}((int *)A, 0)",
    "poll": "{f}((struct pollfd *)A, 1, 0)",
    "ppoll": "{f}((struct pollfd *)A, 1, (struct timespec *)zero, NULL)",
    "select": "{f}(1, (fd_set *)A, NULL, NULL, (struct timeval *)zero)",
    "epoll_ctl": "{f}(epoll, EPOLL_CTL_ADD, event, (struct epoll_event *)A)",
    "epoll_wait": "{f}(epoll, (struct epoll_event *)A, 1, 0)",
    "epoll_pwait": "{f}(epoll, (struct epoll_event *)A, 1, 0, NULL)",
    "eventfd_read": "{f}(event, (eventfd_t *)A)",
    "getrandom": "{f}(A, 8, 0)",
    "getentropy": "{f}(A, 8)",
    "msgsnd": "{f}(messages, A, 16, IPC_NOWAIT)",
    "msgrcv": "{f}(messages, A, 16, 0, IPC_NOWAIT)",
    # sockets
    "recv send": "{f}(sock, A, 4, MSG_DONTWAIT)",
    "recvfrom": "{f}(sock, A, 4, MSG_DONTWAIT, NULL, NULL)",
    "sendto": "{f}(sock, A, 4, MSG_DONTWAIT, NULL, 0)",
    "sendmsg recvmsg": "{f}(sock, M, MSG_DONTWAIT)",
    "socketpair": "{f}(AF_UNIX, SOCK_STREAM, 0, (int *)A)",
    "bind connect": "{f}(sock, (struct sockaddr *)A, 16)",
    "accept": "{f}(sock, (struct sockaddr *)A, (socklen_t *)B)",
    "accept4": "{f}(sock, (struct sockaddr *)A, (socklen_t *)B, 0)",
    "getsockname getpeername": "{f}(sock, (struct sockaddr *)A, (socklen_t *)S)",
    "getsockopt": "{f}(sock, SOL_SOCKET, SO_TYPE, A, (socklen_t *)S)",
    "setsockopt": "{f}(sock, SOL_SOCKET, SO_PASSCRED, A, 4)",
    "inet_ntop": "{f}(AF_INET, A, B, 64)",
    "inet_pton": "{f}(AF_INET, A, B)",
    "inet_aton": "{f}(A, (struct in_addr *)B)",
    "getaddrinfo": "{f}(\"127.0.0.1\", NULL, NULL, (struct addrinfo **)A)",
    "getnameinfo": "{f}((struct sockaddr *)A, 16, B, 64, NULL, 0, NI_NUMERICHOST)",
    # time, files, names
    "gettimeofday": "{f}((struct timeval *)A, NULL)",
    "clock_gettime clock_getres": "{f}(CLOCK_MONOTONIC, (struct timespec *)A)",
    "nanosleep": "{f}((struct timespec *)Z, (struct timespec *)A)",
    "clock_nanosleep": "{f}(CLOCK_MONOTONIC, 0, (struct timespec *)Z, (struct timespec *)A)",
    "time": "{f}((time_t *)A)",
    "localtime_r gmtime_r": "{f}((time_t *)Z, (struct tm *)A)",
    "ctime_r": "{f}((time_t *)Z, A)",
    "asctime_r": "{f}((struct tm *)Z, A)",
    "mktime": "{f}((struct tm *)Z)",
    "strftime": "{f}(A, 64, B, (struct tm *)Z)",
    "stat lstat stat64 lstat64": "{f}(A, (void *)B)",
    "fstat fstat64 fstatvfs fstatvfs64 fstatfs fstatfs64": "{f}(fd, (void *)A)",
    "fstatat fstatat64": "{f}(AT_FDCWD, A, (void *)B, 0)",
    "statvfs statvfs64 statfs statfs64": "{f}(A, (void *)B)",
    "mkstemp mkstemp64 mkdtemp": "{f}(A)",
    "mkostemp mkostemp64": "{f}(A, 0)",
    "access": "{f}(A, 0)",
    "unlink rmdir remove": "{f}(A)",
    "rename": "{f}(A, B)",
    "mkdir": "{f}(X, 0)",
    "open open64": "{f}(A, O_RDONLY)",
    "getcwd gethostname": "{f}(A, 256)",
    "realpath": "{f}(A, NULL)",
    "readlink": "{f}(A, B, 64)",
    "uname": "{f}((struct utsname *)W)",
    "getrusage": "{f}(RUSAGE_SELF, (struct rusage *)A)",
    "getrlimit getrlimit64": "{f}(RLIMIT_NOFILE, (void *)A)",
    "wait": "{f}((int *)A)",
    "waitpid": "{f}(-1, (int *)A, WNOHANG)",
    "wait4": "{f}(-1, (int *)A, WNOHANG, NULL)",
    "getitimer": "{f}(ITIMER_REAL, (struct itimerval *)A)",
    "sched_getaffinity": "{f}(0, 128, (cpu_set_t *)A)",
    "getloadavg": "{f}((double *)A, 3)",
    "dladdr": "{f}((void *)compare, (Dl_info *)A)",
    "iconv": "{f}(conversion, (char **)P, L, (char **)P2, L2)",
    "getopt": "{f}(1, Q, A)",
    "getopt_long getopt_long_only": "{f}(1, Q, A, options, NULL)",
    # signals
    "sigprocmask pthread_sigmask": "{f}(SIG_BLOCK, (sigset_t *)Z, (sigset_t *)A)",
    "sigpending sigemptyset sigfillset": "{f}((sigset_t *)A)",
    "sigaddset sigdelset sigismember": "{f}((sigset_t *)A, SIGUSR2)",
    # what the C library keeps
    "localtime gmtime ctime": "{f}((time_t *)Z)",
    "asctime": "{f}((struct tm *)Z)",
    "getenv secure_getenv unsetenv": "{f}(A)",
    "setenv": "{f}(A, B, 1)",
    "opendir": "{f}(A)",
    "getpwnam getgrnam gethostbyname getprotobyname": "{f}(A)",
    "getservbyname": "{f}(A, B)",
    "gethostbyaddr": "{f}(A, 4, AF_INET)",
    "setlocale": "{f}(LC_ALL, B)",
    # with the size of the object, as _FORTIFY_SOURCE has them called
    "__memcpy_chk __memmove_chk __mempcpy_chk": "{f}(A, B, 16, 512)",
    "__memset_chk": "{f}(A, 7, 16, 512)",
    "__explicit_bzero_chk": "{f}(A, 16, 512)",
    "__strcpy_chk __stpcpy_chk __strcat_chk": "{f}(A, B, 512)",
    "__strncpy_chk __stpncpy_chk __strncat_chk": "{f}(A, B, 4, 512)",
    "__fread_chk": "rewind(F), {f}(A, 512, 1, 16, F)",
    "__fgets_chk": "rewind(F), {f}(A, 512, 16, F)",
    "__printf_chk": "{f}(1, \"%s\\n\", A)",
    "__fprintf_chk": "{f}(F, 1, \"%s\", A)",
    "__dprintf_chk": "{f}(fd, 1, \"%s\", A)",
    "__sprintf_chk": "{f}(A, 1, 512, \"%s\", B)",
    "__snprintf_chk": "{f}(A, 16, 1, 512, \"%s\", B)",
    "__asprintf_chk": "{f}((char **)A, 1, \"%s\", B)",
    "__vprintf_chk __vfprintf_chk __vdprintf_chk __vsprintf_chk __vsnprintf_chk __vasprintf_chk": "list_{f}(\"%s\\n\", A)",
    "__isoc99_vscanf __isoc99_vfscanf __isoc99_vsscanf": "list_{f}(\"%s\", A)",
    "__isoc99_scanf": "{f}(\"%s\", A)",
    "__isoc99_fscanf": "rewind(F), {f}(F, \"%s\", A)",
    "__read_chk": "lseek(fd, 0, SEEK_SET), {f}(fd, A, 16, 512)",
    "__pread_chk __pread64_chk": "{f}(fd, A, 16, 0L, 512)",
    "__poll_chk": "{f}((struct pollfd *)A, 1, 0, 512)",
    "__recv_chk": "{f}(sock, A, 4, 512, MSG_DONTWAIT)",
    "__recvfrom_chk": "{f}(sock, A, 4, 512, MSG_DONTWAIT, NULL, NULL)",
    "__getcwd_chk __gethostname_chk": "{f}(A, 256, 512)",
    "__realpath_chk": "{f}(A, NULL, 4096)",
    "__readlink_chk": "{f}(A, B, 64, 512)",
    "mq_send": "{f}(-1, A, 4, 0)",
    "mq_receive": "{f}(-1, A, 4, NULL)",
}
# What the C library keeps, and nothing of the program's: both threads call these.
BOTH = {
    "localeconv drand48 lrand48 mrand48 getlogin": "{f}()",
    "srand48 getpwuid getgrgid": "{f}(0)",
    "ttyname ptsname": "{f}(1)",
    "readdir readdir64 rewinddir": "{f}(directory)",
    "putenv": "{f}(\"HEDDLE_MODEL=1\")",
    "clearenv": "{f}()",
}
# They touch no memory, or only a newer C library has them: there they are what scanf(), strtol() ... are here.
WITHOUT = """eventfd_write __isoc23_scanf __isoc23_fscanf __isoc23_sscanf __isoc23_vscanf __isoc23_vfscanf
  __isoc23_vsscanf __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull""".split()
# What list_f() calls with the list l; names that no header has, or only for _FORTIFY_SOURCE.
LISTS = {
    "vprintf vscanf __isoc99_vscanf": "{f}(f, l)",
    "vfprintf vfscanf __isoc99_vfscanf": "{f}(file, f, l)",
    "vdprintf": "{f}(fd, f, l)",
    "vsprintf": "{f}(o, f, l)",
    "vsnprintf": "{f}(o, 9, f, l)",
    "vasprintf": "{f}((char **)o, f, l)",
    "vsscanf __isoc99_vsscanf": "{f}(\"word\", f, l)",
    "__vprintf_chk": "{f}(1, f, l)",
    "__vfprintf_chk": "{f}(file, 1, f, l)",
    "__vdprintf_chk": "{f}(fd, 1, f, l)",
    "__vsprintf_chk": "{f}(o, 1, 1024, f, l)",
    "__vsnprintf_chk": "{f}(o, 9, 1, 1024, f, l)",
    "__vasprintf_chk": "{f}((char **)o, 1, f, l)",
}
UNDECLARED = """void *__mempcpy(void *, const void *, size_t); void *__memcpy_chk(void *, const void *, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t); void *__mempcpy_chk(void *, const void *, size_t, size_t);
void *__memset_chk(void *, int, size_t, size_t); void __explicit_bzero_chk(void *, size_t, size_t);
char *__stpcpy(char *, const char *); char *__strdup(const char *); char *__strtok_r(char *, const char *, char **);
char *__strcpy_chk(char *, const char *, size_t); char *__stpcpy_chk(char *, const char *, size_t);
char *__strcat_chk(char *, const char *, size_t); char *__strncpy_chk(char *, const char *, size_t, size_t);
char *__stpncpy_chk(char *, const char *, size_t, size_t); char *__strncat_chk(char *, const char *, size_t, size_t);
int __xpg_strerror_r(int, char *, size_t); ssize_t __getdelim(char **, size_t *, int, FILE *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *); char *__fgets_chk(char *, size_t, int, FILE *);
int __printf_chk(int, const char *, ...); int __fprintf_chk(FILE *, int, const char *, ...);
int __dprintf_chk(int, int, const char *, ...); int __sprintf_chk(char *, int, size_t, const char *, ...);
int __snprintf_chk(char *, size_t, int, size_t, const char *, ...); int __asprintf_chk(char **, int, const char *, ...);
int __vprintf_chk(int, const char *, va_list); int __vfprintf_chk(FILE *, int, const char *, va_list);
int __vdprintf_chk(int, int, const char *, va_list); int __vsprintf_chk(char *, int, size_t, const char *, va_list);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list); int __vasprintf_chk(char **, int, const char *, va_list);
int __isoc99_scanf(const char *, ...); int __isoc99_fscanf(FILE *, const char *, ...);
int __isoc99_sscanf(const char *, const char *, ...); int __isoc99_vscanf(const char *, va_list);
int __isoc99_vfscanf(FILE *, const char *, va_list); int __isoc99_vsscanf(const char *, const char *, va_list);
ssize_t __read_chk(int, void *, size_t, size_t); ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t); int __poll_chk(struct pollfd *, nfds_t, int, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int); char *__getcwd_chk(char *, size_t, size_t);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
int __gethostname_chk(char *, size_t, size_t); char *__realpath_chk(const char *, char *, size_t);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
"""

HEAD = r"""#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <iconv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static int fd, event, epoll, sock, messages, other;
static FILE *file;
static DIR *directory;
static iconv_t conversion;
static char zero[64] __attribute__((aligned(16)));
static struct option options[2] = { { "long", 0, NULL, 0 } };
static int compare(const void *a, const void *b) { return *(char *)a - *(char *)b; }
static int compare_r(const void *a, const void *b, void *c) { return *(char *)a - *(char *)b + *(char *)c; }
#define TOUCH(p, n) for (int i = 0; i < (int)(n); i++) ((char *)(p))[i] = ((char *)(p))[i]
"""


def each(table):
    return {name: line for names, line in table.items() for name in names.split()}


def calls():
    return each(CALLS) | each(BOTH)


def variables(name, line):
    """Declarations, what is done before the thread, what main() touches."""
    text, start, touched = [], [], []
    for letter in "ABCZXW":
        if re.search(rf"\b{letter}\b", line):
            text.append(f"static char {letter.lower()}_{name}[512] __attribute__((aligned(16)));")
            if letter in "ABCX":
                start.append(f"strcpy({letter.lower()}_{name}, \"12 ab\");")
            touched.append((f"{letter.lower()}_{name}", 256))
    if re.search(r"\b[PVM]\b|\bP2\b", line) and f"a_{name}[" not in "".join(text):
        text.append(f"static char a_{name}[512] __attribute__((aligned(16)));")
        start.append(f"strcpy(a_{name}, \"12 ab\");")
        touched.append((f"a_{name}", 16))
    if re.search(r"\bP\b", line):
        text.append(f"static char *p_{name} = a_{name};")
    if re.search(r"\bP0\b", line):
        text.append(f"static char *p0_{name};")
        start.append(f"p0_{name} = malloc(256);")
        touched.append((f"p0_{name}", 4))
    if re.search(r"\bP2\b", line):
        text.append(f"static char p2m_{name}[64]; static char *p2_{name} = p2m_{name};")
        touched.append((f"p2m_{name}", 4))
    for letter, value in ("L", "4"), ("L2", "64"), ("S", "16"):
        if re.search(rf"\b{letter}\b", line):
            text.append(f"static size_t {letter.lower()}_{name} = {value};")
            touched.append((f"&{letter.lower()}_{name}", 4))
    if re.search(r"\b[VM]\b", line):
        text.append(f"static struct iovec v_{name}[2] = {{ {{ a_{name}, 8 }}, {{ a_{name} + 8, 8 }} }};")
        touched.append((f"v_{name}", 16))
    if re.search(r"\bM\b", line):
        text.append(f"static struct msghdr m_{name} = {{ .msg_iov = v_{name}, .msg_iovlen = 2 }};")
        touched.append((f"&m_{name}", 8))
    if re.search(r"\bQ\b", line):
        text.append(f"static char q0_{name}[8] = \"-x\"; static char *q_{name}[3] = {{ q0_{name}, q0_{name} }};")
        touched.append((f"q0_{name}", 2))
    return text, start, touched


def expression(name, line):
    for letter in "ABCZXW":
        line = re.sub(rf"\b{letter}\b", f"{letter.lower()}_{name}", line)
    for letter in "P", "P0", "P2", "L", "L2", "S", "M":
        line = re.sub(rf"\b{letter}\b", f"&{letter.lower()}_{name}", line)
    for letter in "V", "Q":
        line = re.sub(rf"\b{letter}\b", f"{letter.lower()}_{name}", line)
    return re.sub(r"\bF\b", "file", line).replace("{f}", name)


def program():
    """The text, and the function of each line of a call."""
    lines, start, work, touch, at, both = (HEAD + UNDECLARED).split("\n"), [], [], [], {}, each(BOTH)
    for name, line in each(LISTS).items():
        at[len(lines) + 1] = name
        lines.append(f"static int list_{name}(const char *f, ...) {{ char o[1024]; va_list l; va_start(l, f); "
                     f"int n = {line.format(f=name)}; va_end(l); return n; }}")
    for name, line in calls().items():
        text, first, touched = variables(name, line)
        lines += text
        start += first
        work.append((name, expression(name, line)))
        touch += [(name, f"TOUCH({p}, {n});") for p, n in touched]
        touch += [(name, line.replace("{f}", name) + ";")] if name in both else []
    for name, call in work:
        lines.append(f"static void call_{name}(void)")
        lines.append("{")
        if name not in at.values():
            at[len(lines) + 1] = name
        lines.append(f"    {call};")
        lines.append("}")
    lines += ["static void *run(void *arg)", "{"] + [f"    call_{n}();" for n, _ in work] + ["    return arg;", "}"]
    lines += ["static void touch(void)", "{"] + [t for _, t in touch] + ["}", "int main(void)", "{", "    pthread_t t;",
              "    int pair[2];"]
    lines += ["    file = tmpfile(); fputs(\"1 2 3\\n4 5 6\\n7 8 9 10 11 12 13 14\\n\", file); rewind(file); fd = open(\"data\", O_RDWR | O_CREAT, 0600);",
              "    if (write(fd, zero, 64) < 0) return 1;", "    lseek(fd, 0, SEEK_SET);",
              "    event = eventfd(1, EFD_NONBLOCK); epoll = epoll_create1(0); messages = msgget(IPC_PRIVATE, 0600);",
              "    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(pair[1], zero, 64) < 0) return 1;",
              "    directory = opendir(\".\"); sock = pair[0]; other = pair[1]; conversion = iconv_open(\"UTF-8\", \"ISO-8859-1\");"]
    lines += ["    " + s for s in start]
    lines += ["    pthread_create(&t, NULL, run, NULL);", "    touch();", "    pthread_join(t, NULL);",
              "    msgctl(messages, IPC_RMID, NULL);", "    return 0;", "}"]
    return "\n".join(lines) + "\n", at


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


def lines_of(race):
    found = []
    for a in race["accesses"]:
        m = re.search(r":(\d+)(?::\d+)?$", a.get("location") or "")
        found.append(int(m[1]) if m else 0)
    return frozenset(found)


def modelled(source):
    """The functions of abi/rt_libc.h that the runtime has a model for: M and V."""
    names = set()
    for part in glob.glob(os.path.join(source, "abi", "rt_libc_*.h")):
        with open(part) as f:
            names |= set(re.findall(r"\b[MV]\((\w+), \d\)", f.read()))
    return names


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--show", action="store_true")
    p.add_argument("source")
    o = p.parse_args()
    build = os.path.abspath(o.build)
    all_models = modelled(o.source)
    new = sorted(n for n in all_models if n not in calls() and n not in WITHOUT)
    old = sorted(n for n in list(calls()) + WITHOUT if n not in all_models)
    text, at = program()
    with tempfile.TemporaryDirectory(prefix="heddle-models-") as work:
        with open(os.path.join(work, "prog.c"), "w") as f:
            f.write(text)
        r = run(build + "/heddle-cc", "-g", "-O0", "-w", "-fno-builtin", "-pthread", "prog.c", "-o", "prog", "-lm", cwd=work)
        if r.returncode:
            sys.exit(r.stderr)
        env = dict(os.environ, LC_ALL="C")
        env.pop("HEDDLE_OPTIONS", None)
        for _ in range(3):  # main() may put back a pointer that the library has just freed: a race, and a crash
            ran = run(build + "/heddle", "record", "-o", "rec", "--", "./prog", cwd=work, env=env, timeout=120)
            if ran.returncode == 0:
                break
        r = run(build + "/heddle", "analyze", "-q", "--engine", "hb", "--format", "json", "-o", "out.json", "rec", cwd=work)
        if r.returncode not in (0, 66):
            sys.exit(f"record: {ran.returncode} {ran.stderr}\nanalyze: {r.returncode} {r.stderr}")
        with open(os.path.join(work, "out.json")) as f:
            races = {lines_of(race) for race in json.load(f)["races"]
                     if all(a["op"] in ("read", "write") for a in race["accesses"])}
        r = run(build + "/heddle", "static", "prog", "--format", "json", cwd=work)
        if r.returncode:
            sys.exit(f"static: {r.stderr}")
    result = json.loads(r.stdout)
    lines = [s["line"] for s in result["sites"]]
    pairs = {frozenset((lines[i], lines[j])) for i, j in result["pairs"]}
    text = text.split("\n")
    missing = [r for r in races if r not in pairs]
    seen = {at[n] for r in races for n in r if n in at}
    print("1..3")
    print(f"{'not ' if new or old else ''}ok 1 - each of {len(all_models)} modelled functions has a line here")
    for name in new + old:
        print(f"# {name} has none" if name in new else f"# {name} has no model")
    print(f"{'not ' if missing else ''}ok 2 - {len(races)} races of a run are among {len(pairs)} pairs")
    for race in missing:
        print("# missing: " + " | ".join(text[n - 1].strip() for n in sorted(race)))
    enough = len(seen) * 10 >= len(at) * 9
    print(f"{'' if enough and ran.returncode == 0 else 'not '}ok 3 - {len(seen)} of {len(at)} functions raced, exit {ran.returncode}")
    if o.show or not enough:
        print("# without a race: " + " ".join(sorted(set(at.values()) - seen)))
    return bool(new or old or missing or not enough or ran.returncode)


if __name__ == "__main__":
    sys.exit(main())
