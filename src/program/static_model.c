/* static_model.c - what functions do that are not part of the program
 *
 * The C library's, those of threads, and the few of the C++ library that headers call. What is not
 * listed is assumed to do anything with all it can reach: system functions without starting
 * threads, others with. So a missing line costs precision only; a wrong one costs soundness.
 */
#include "base/alloc.h"
#include "program/static_inside.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "pass/system_list.h"

/* clang-format off: a table. Names that do the same stand together. */
static const struct model models[] = {
    /* memory and strings */
    { "memcpy memmove __memcpy_chk __memmove_chk mempcpy __mempcpy __mempcpy_chk wmemcpy wmemmove",
      "wr-", '0', MODEL_COPY },
    { "memccpy", "wr-", '0', MODEL_MIX },
    { "bcopy", "rw-", '-', MODEL_MIX },
    { "memset __memset_chk wmemset", "w-", '0', 0 },
    { "bzero explicit_bzero __explicit_bzero_chk", "w", '-', 0 },
    { "memcmp bcmp strcmp strncmp strcasecmp strncasecmp strcoll strspn strcspn", "rr", '-', 0 },
    { "memchr memrchr rawmemchr strchr strrchr strchrnul index rindex", "r", '0', 0 },
    { "memmem", "r-r-", '0', 0 },
    { "strlen strnlen wcslen atoi atol atoll atof", "r", '-', 0 },
    { "strcpy strncpy stpcpy __stpcpy stpncpy wcscpy __strcpy_chk __strncpy_chk __stpcpy_chk", "wr",
      '0', 0 },
    { "strcat strncat __strcat_chk __strncat_chk", "br", '0', 0 },
    { "strlcpy", "wr", '-', 0 },
    { "strlcat", "br", '-', 0 },
    { "strstr strcasestr strpbrk", "rr", '0', 0 },
    { "strdup __strdup strndup", "r", 'h', 0 },
    { "strtok_r __strtok_r", "brB", '-', MODEL_MIX },
    { "strtok", "!br", '-', MODEL_MIX },
    { "strsep", "Br", '-', MODEL_MIX },
    { "strerror strsignal __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location "
      "__h_errno_location",
      "", 's', 0 },
    { "strerror_r", "-w", '1', 0 },
    { "__xpg_strerror_r", "-w", '-', 0 },
    { "strtol strtoul strtoll strtoull strtoimax strtoumax __isoc23_strtol __isoc23_strtoul "
      "__isoc23_strtoll __isoc23_strtoull strtod strtof strtold",
      "rw", '-', MODEL_END_AT },
    { "toupper tolower", "", '-', 0 },
    /* allocation */
    { "malloc calloc valloc memalign aligned_alloc pvalloc _Znwm _Znam _ZnwmRKSt9nothrow_t "
      "_ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZnamSt11align_val_t "
      "_ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t",
      "", 'h', 0 },
    { "mmap mmap64 shmat", "", 'h', MODEL_MAP },
    { "realloc reallocarray", "f", '-', MODEL_REALLOC },
    { "mremap", "", '-', MODEL_REALLOC },
    { "posix_memalign", "w", '-', MODEL_HEAP_AT },
    { "free cfree munmap _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t "
      "_ZdlPvmSt11align_val_t _ZdaPvSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvRKSt9nothrow_t "
      "_ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_tRKSt9nothrow_t "
      "_ZdaPvSt11align_val_tRKSt9nothrow_t",
      "f", '-', 0 },
    { "mprotect", "", '-', MODEL_PROTECT },
    { "madvise malloc_usable_size shmdt", "", '-', 0 },
    /* stdio: a FILE is the library's */
    { "fopen fopen64 freopen popen", "rr", 's', 0 },
    { "fdopen", "-r", 's', 0 },
    { "pclose fclose fflush fgetc getc getchar ungetc fputc putc putchar feof ferror clearerr "
      "fileno fseek fseeko ftell ftello rewind flockfile funlockfile",
      "", '-', 0 },
    { "tmpfile", "", 's', 0 },
    { "fread fread_unlocked __fread_chk", "v", '-', 0 },
    { "fwrite fwrite_unlocked fputs fputs_unlocked puts perror", "s", '-', 0 },
    { "fgets fgets_unlocked __fgets_chk", "v", '0', 0 },
    { "setvbuf", "-b", '-', 0 },
    { "getline getdelim __getdelim", "Vb", '-', MODEL_HEAP_AT },
    { "printf", "r*", '-', 0 },
    { "fprintf dprintf __printf_chk", "-r*", '-', 0 },
    { "sprintf", "wr*", '-', 0 },
    { "snprintf", "w-r*", '-', 0 },
    { "asprintf", "wr*", '-', MODEL_HEAP_AT },
    { "vprintf", "rR", '-', 0 },
    { "vfprintf vdprintf __vprintf_chk vsyslog", "-rR", '-', 0 },
    { "vsprintf", "wrR", '-', 0 },
    { "vsnprintf", "w-rR", '-', 0 },
    { "vasprintf", "wrR", '-', MODEL_HEAP_AT },
    { "__fprintf_chk __dprintf_chk", "--r*", '-', 0 },
    { "__sprintf_chk", "w--r*", '-', 0 },
    { "__snprintf_chk", "w---r*", '-', 0 },
    { "__asprintf_chk", "w-r*", '-', MODEL_HEAP_AT },
    { "__vasprintf_chk", "w-rR", '-', MODEL_HEAP_AT },
    { "__vfprintf_chk __vdprintf_chk", "--rR", '-', 0 },
    { "__vsprintf_chk", "w--rR", '-', 0 },
    { "__vsnprintf_chk", "w---rR", '-', 0 },
    { "scanf __isoc99_scanf __isoc23_scanf", "rw*", '-', 0 },
    { "fscanf __isoc99_fscanf __isoc23_fscanf", "-rw*", '-', 0 },
    { "sscanf __isoc99_sscanf __isoc23_sscanf", "rrw*", '-', 0 },
    { "vscanf __isoc99_vscanf __isoc23_vscanf", "rW", '-', 0 },
    { "vfscanf __isoc99_vfscanf __isoc23_vfscanf", "-rW", '-', 0 },
    { "vsscanf __isoc99_vsscanf __isoc23_vsscanf", "rrW", '-', 0 },
    /* files, sockets */
    { "read pread pread64 __read_chk __pread_chk __pread64_chk recv __recv_chk mq_receive "
      "mq_timedreceive msgrcv",
      "-v", '-', 0 },
    { "eventfd_read fstat fstat64", "-w", '-', 0 },
    { "write pwrite pwrite64 send mq_send mq_timedsend msgsnd", "-s", '-', 0 },
    { "openat bind connect", "-r", '-', 0 },
    { "open open64 creat access unlink remove mkdir rmdir chmod chown", "r", '-', 0 },
    { "close lseek lseek64 fsync fdatasync ftruncate dup dup2 epoll_create epoll_create1 eventfd "
      "eventfd_write socket listen shutdown htons htonl ntohs ntohl umask isatty closedir "
      "posix_fadvise posix_fallocate flock",
      "", '-', 0 },
    { "fcntl fcntl64 ioctl sendfile", "--b", '-', 0 },
    { "pipe pipe2 gethostname uname", "w", '-', 0 },
    { "poll", "b", '-', 0 },
    { "ppoll", "b-rr", '-', 0 },
    { "select", "-bbbb", '-', 0 },
    { "socketpair", "---w", '-', 0 },
    { "accept accept4 getsockname getpeername", "-wb", '-', 0 },
    { "getsockopt", "---wb", '-', 0 },
    { "setsockopt", "---r", '-', 0 },
    { "recvfrom", "-v--wb", '-', 0 },
    { "sendto", "-s--r", '-', 0 },
    { "inet_ntop", "-rw", '2', 0 },
    { "inet_pton fstatat", "-rw", '-', 0 },
    { "stat lstat stat64 lstat64 readlink", "rw", '-', 0 },
    { "rename utime utimes", "rr", '-', 0 },
    { "getcwd", "w", '0', MODEL_HEAP },
    { "realpath", "rw", '1', MODEL_HEAP },
    { "opendir", "r", 's', 0 },
    { "readdir readdir64", "!-", 's', 0 },
    /* time, process */
    { "time wait getrandom getentropy backtrace sigemptyset sigfillset", "w", '-', 0 },
    { "gettimeofday", "ww", '-', 0 },
    { "clock_gettime clock_getres waitpid getrusage getrlimit frexp modf dladdr", "-w", '-', 0 },
    { "clock difftime usleep sleep tzset getpid getppid gettid getuid geteuid getgid getegid fork "
      "kill raise exit _exit abort quick_exit __stack_chk_fail alarm sysconf getpagesize "
      "sched_yield sched_getcpu get_nprocs fchown fchmod wcwidth freeaddrinfo rand srand random "
      "srandom abs labs setjmp _setjmp __sigsetjmp longjmp siglongjmp _longjmp __longjmp_chk "
      "dlclose",
      "", '-', 0 },
    { "nanosleep sigwait", "rw", '-', 0 },
    { "clock_nanosleep", "--rw", '-', 0 },
    { "localtime_r gmtime_r ctime_r asctime_r", "rw", '1', 0 },
    { "mktime rand_r sigaddset sigdelset", "b", '-', 0 },
    { "strftime", "w-rr", '-', 0 },
    { "localtime gmtime ctime asctime getpwnam getgrnam gethostbyname gethostbyaddr "
      "getprotobyname",
      "!r", 's', 0 },
    { "__assert_fail", "rr-r", '-', 0 },
    { "setrlimit futimens __sched_cpucount", "-r", '-', 0 },
    { "sched_setaffinity", "--r", '-', 0 },
    { "sched_getaffinity", "--w", '-', 0 },
    { "utimensat", "-rr", '-', 0 },
    { "getopt", "!-Br", '-', 0 },
    { "getopt_long getopt_long_only", "!-BrRw", '-', 0 },
    { "getsubopt", "BRw", '-', MODEL_MIX },
    { "mbrtowc", "wr-b", '-', 0 },
    { "mbsinit sigismember chdir backtrace_symbols_fd msync openlog", "r", '-', 0 },
    { "backtrace_symbols", "r", 'h', 0 },
    { "gai_strerror dlerror", "", 's', 0 },
    { "setbuf", "-b", '-', 0 },
    { "syslog", "-r*", '-', 0 },
    { "getenv secure_getenv", "?r", 's', 0 },
    { "setenv", "!rr", '-', 0 },
    { "unsetenv", "!r", '-', 0 },
    { "clearenv drand48 lrand48 mrand48 srand48", "!", '-', 0 },
    { "setlocale", "!-r", 's', 0 },
    { "localeconv getpwuid getgrgid ttyname ptsname getlogin", "!", 's', 0 },
    { "getservbyname", "!rr", 's', 0 },
    { "sigprocmask pthread_sigmask", "-rw", '-', 0 },
    { "signal", "", '-', MODEL_HANDLER },
    { "sigaction", "-rw", '-', MODEL_ACTION },
    { "atexit on_exit __cxa_atexit __cxa_thread_atexit __cxa_thread_atexit_impl", "", '-',
      MODEL_ATEXIT },
    { "qsort qsort_r", "b", '-', MODEL_COMPARE },
    { "bsearch lfind", "", '1', MODEL_COMPARE },
    { "dlsym dlvsym", "-r", '-', MODEL_LOOKUP },
    { "dlopen", "r", 's', 0 },
    /* the kernel's and the C library's that real programs call */
    { "__sysconf setuid setgid setsid setpgid setpriority getpriority mlockall munlockall mlock "
      "munlock nice sync_file_range ftruncate64 ftello64 fseeko64 posix_fadvise64 "
      "posix_fallocate64 fallocate fallocate64 sched_get_priority_max sched_get_priority_min "
      "putc_unlocked putchar_unlocked fputc_unlocked getc_unlocked fgetc_unlocked "
      "getchar_unlocked fflush_unlocked feof_unlocked ferror_unlocked isalnum isalpha iscntrl "
      "isdigit isgraph islower isprint ispunct isspace isupper isxdigit dup3 pause fchdir getpgrp "
      "syncfs sync inotify_init1 inotify_init timerfd_create globfree globfree64",
      "", '-', 0 },
    { "getloadavg sigpending", "w", '-', 0 },
    { "setgroups openat64 setrlimit64 sched_setparam", "-r", '-', 0 },
    { "writev pwritev pwritev2 pwritev64 sendmsg sendmmsg", "-S", '-', 0 },
    { "readv preadv preadv2 preadv64 recvmsg recvmmsg", "-V", '-', 0 },
    { "sigsuspend truncate truncate64 creat64 inet_addr", "r", '-', 0 },
    { "mkstemp mkstemp64 mkostemp mkostemp64", "b", '-', 0 },
    { "mkdtemp dirname basename __xpg_basename", "b", '0', 0 },
    { "futimesat", "-rr", '-', 0 },
    { "tmpfile64", "", 's', 0 },
    { "getrlimit64 fstatvfs fstatvfs64 fstatfs fstatfs64 sched_getparam getitimer", "-w", '-', 0 },
    { "prlimit prlimit64", "--rw", '-', 0 },
    { "sched_setscheduler", "--r", '-', 0 },
    { "setitimer", "-rw", '-', 0 },
    { "prctl", "-b*", '-', 0 },
    { "get_current_dir_name", "", 'h', 0 },
    { "execve execvp execv", "R*", '-', 0 },
    { "statvfs statvfs64 statfs statfs64 inet_aton", "rw", '-', 0 },
    { "link symlink strverscmp strcoll_l", "rr", '-', 0 },
    { "strxfrm", "wr", '-', 0 },
    { "getnameinfo", "r-w-w", '-', 0 },
    { "wait3", "w-w", '-', 0 },
    { "wait4", "-w-w", '-', 0 },
    { "sincos sincosf sincosl", "-ww", '-', 0 },
    { "epoll_ctl", "---r", '-', MODEL_KEEP },
    { "epoll_wait epoll_pwait", "-w", '-', MODEL_KEPT },
    { "getaddrinfo glob glob64", "rrrw", '-', MODEL_GIVES },
    { "__sysv_signal bsd_signal", "", '-', MODEL_HANDLER },
    /* threads */
    { "pthread_create", "w-", '-', MODEL_CREATE },
    { "thrd_create", "wx", '-', MODEL_CREATE },
    { "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", "w",
      '-', MODEL_CREATE_CXX },
    { "pthread_join thrd_join pthread_timedjoin_np pthread_tryjoin_np", "-w", '-', MODEL_JOIN },
    { "_ZNSt6thread4joinEv", "b", '-', MODEL_JOIN },
    { "_ZNSt6thread6detachEv", "b", '-', 0 },
    { "_ZNSt6thread20hardware_concurrencyEv thrd_exit pthread_detach pthread_self pthread_equal "
      "pthread_cancel pthread_kill pthread_yield pthread_setcancelstate pthread_setcanceltype "
      "pthread_testcancel pthread_setname_np pthread_getname_np pthread_setaffinity_np "
      "pthread_getaffinity_np thrd_yield thrd_sleep thrd_current thrd_detach thrd_equal "
      "pthread_key_delete tss_delete",
      "", '-', 0 },
    { "pthread_exit", "", '-', MODEL_EXIT },
    { "pthread_once call_once", "", '-', MODEL_ONCE },
    { "pthread_key_create tss_create", "", '-', MODEL_KEY },
    { "pthread_setspecific tss_set", "", '-', MODEL_SET },
    { "pthread_getspecific tss_get", "", '-', MODEL_GET },
    { "pthread_mutex_lock pthread_spin_lock mtx_lock pthread_rwlock_wrlock", "", '-', MODEL_LOCK },
    { "pthread_mutex_unlock pthread_spin_unlock mtx_unlock pthread_rwlock_unlock", "", '-',
      MODEL_UNLOCK },
    /* C++ */
    { "__cxa_allocate_exception", "", 'h', 0 },
    { "__cxa_free_exception __cxa_rethrow __cxa_end_catch __cxa_guard_acquire __cxa_guard_release "
      "__cxa_guard_abort __cxa_pure_virtual __gxx_personality_v0 _ZSt9terminatev "
      "_ZNSt8ios_base4InitC1Ev _ZNSt8ios_base4InitD1Ev",
      "", '-', 0 },
    { "__cxa_throw _Unwind_Resume", "", '-', MODEL_THROW },
    { "__cxa_begin_catch __cxa_get_exception_ptr", "", '-', MODEL_CATCH },
    { "__dynamic_cast", "r", '0', 0 },
    { "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base "
      "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base "
      "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
      "r", '-', MODEL_REACH },
    { "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", "-bbb", '-',
      MODEL_REACH },
    { "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", "bb", '-', MODEL_REACH },
};

/* By the beginning of the name. */
static const struct model families[] = {
    { "pthread_mutex", "", '-', 0 },
    { "pthread_cond", "", '-', 0 },
    { "pthread_rwlock", "", '-', 0 },
    { "pthread_spin", "", '-', 0 },
    { "pthread_barrier", "", '-', 0 },
    { "pthread_attr", "", '-', 0 },
    { "pthread_condattr", "", '-', 0 },
    { "sem_", "", '-', 0 },
    { "mtx_", "", '-', 0 },
    { "cnd_", "", '-', 0 },
    { "__atomic_", "bb*", '-', MODEL_MIX },
    { "__sync_", "bb*", '-', MODEL_MIX },
    { "_ZSt20__throw_", "r", '-', 0 },
    { "_ZSt17__throw_", "r", '-', 0 },
    { "_ZSt16__throw_", "r", '-', 0 },
    { "_ZSt19__throw_", "r", '-', 0 },
    { "_ZSt24__throw_", "r", '-', 0 },
    { "_ZSt25__throw_", "r", '-', 0 },
    { "_ZNSt18condition_variable", "", '-', 0 },
    { "_ZNSt22condition_variable", "", '-', 0 },
    { "_ZNSt6thread6_StateD", "", '-', 0 },
    { "_ZNSt9exceptionD", "", '-', 0 },
    { "_ZNSolsE", "--", '0', 0 },
    { "_ZNSo3putEc", "", '0', 0 },
    { "_ZNSo5flushEv", "", '0', 0 },
    { "_ZSt4endl", "", '0', 0 },
    { "_ZNSo9_M_insert", "", '0', 0 },
    { "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_", "-r", '0', 0 },
    { "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostream", "-r", '0', 0 },
    { "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE", "bb*", '-', MODEL_STRING },
    { "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE", "rr*", '-', MODEL_STRING },
    { "Annotate", "", '-', 0 },
    { "WTFAnnotate", "", '-', 0 },
    { "__tsan_", "", '-', 0 },
    { "__heddle_", "", '-', 0 },
};
/* clang-format on */

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct model *)a)->name, ((const struct model *)b)->name);
}

static size_t expand(struct model **all)
{
    size_t n = 0, cap = 0, length;

    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
        for (const char *at = models[i].name; *at; at += length, at += *at == ' ') {
            length = strcspn(at, " ");
            GROW(*all, cap, n + 1);
            (*all)[n] = models[i];
            (*all)[n++].name = xstrndup(at, length);
        }
    qsort(*all, n, sizeof(**all), compare);
    return n;
}

/* The table is for readers; a sorted one with a line for each name is for us, made once. */
static const struct model *sorted(size_t *n)
{
    static struct model *all;
    static size_t count;

    if (!count)
        count = expand(&all);
    *n = count;
    return all;
}

/* Of numbers, with or without f or l behind: nothing that could be a pointer. */
static bool is_math(const char *name)
{
    static const char *const names[] = {
        "acos",      "acosh",    "asin",  "asinh",     "atan",    "atan2",     "atanh",     "cbrt",
        "ceil",      "copysign", "cos",   "cosh",      "erf",     "erfc",      "exp",       "exp10",
        "exp2",      "expm1",    "fabs",  "fdim",      "floor",   "fma",       "fmax",      "fmin",
        "fmod",      "hypot",    "ilogb", "ldexp",     "llrint",  "llround",   "log",       "log10",
        "log1p",     "log2",     "logb",  "lrint",     "lround",  "nearbyint", "nextafter", "pow",
        "remainder", "rint",     "round", "roundeven", "scalbln", "scalbn",    "sin",       "sinh",
        "sqrt",      "tan",      "tanh",  "tgamma",    "trunc",
    };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t k = strlen(names[i]);

        if (strncmp(name, names[i], k) == 0 &&
            (n == k || (n == k + 1 && (name[k] == 'f' || name[k] == 'l'))))
            return true;
    }
    return false;
}

const struct model *model_find(const char *name)
{
    static const struct model math = { "math", "", '-', 0 };
    size_t n;
    const struct model *all = sorted(&n), key = { .name = name };
    const struct model *found = bsearch(&key, all, n, sizeof(*all), compare);

    for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !found; i++)
        if (strncmp(name, families[i].name, strlen(families[i].name)) == 0)
            found = &families[i];
    return found || !is_math(name) ? found : &math;
}

char model_hidden(const struct model *m)
{
    return m->args[0] == '?' ? 'r' : m->args[0] == '!' ? 'w' : 0;
}

char model_letter(const struct model *m, unsigned i)
{
    const char *args = m->args + (model_hidden(m) != 0);

    for (; *args; args++, i--) {
        if (args[1] == '*' || i == 0)
            return *args == '-' || *args == 'x' ? 0 : *args;
    }
    return 0;
}

char model_touch(const struct model *m, unsigned i)
{
    char letter = model_letter(m, i);

    switch (letter) {
    case 's':
        return 'r';
    case 'S':
        return 'R';
    case 'v':
        return 'w';
    case 'V':
        return 'W';
    default:
        return letter;
    }
}

/* Variables of the C library: what they hold is the library's, not the program's. */
bool model_is_variable(const char *name)
{
    static const char *const names[] = {
        "stdin",
        "stdout",
        "stderr",
        "environ",
        "__environ",
        "optarg",
        "optind",
        "opterr",
        "optopt",
        "tzname",
        "timezone",
        "daylight",
        "signgam",
        "__progname",
        "__progname_full",
        "program_invocation_name",
        "program_invocation_short_name",
    };

    /* types of exceptions and classes, and the tables of functions of such types */
    if (strncmp(name, "_ZTI", 4) == 0 || strncmp(name, "_ZTVN10__cxxabiv1", 17) == 0)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int compare_names(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

/* As the compiler pass sees it (pass/system.c), but for the one that starts threads. */
bool model_is_system(const char *name)
{
    static const char *const list[] = { SYSTEM_FUNCTIONS };
    static const char *const patterns[] = {
        "__*_chk",        "__isoc99_*", "__isoc23_*", "__libc_*",       "__sched_*",
        "_IO_*",          "_ZNSt*",     "_ZNKSt*",    "_ZSt*",          "_ZNS[absiod]*",
        "_ZNKS[absiod]*", "__cxa_*",    "_Unwind_*",  "_ZN9__gnu_cxx*", "__*[sdtx]f[23]",
        "__*ti[23]",      "__*di[23]",
    };

    if (strcmp(name, "timer_create") == 0)
        return false;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return bsearch(name, list, sizeof(list) / sizeof(*list), sizeof(*list), compare_names);
}
