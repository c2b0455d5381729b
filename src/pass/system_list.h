/* system_list.h - functions of glibc that make no order a program can rely on
 *
 * The names that libc.so.6 and libm.so.6 of glibc 2.36 export, but for those with a leading
 * underscore (system.c knows them by prefix), variants of functions for other types of numbers,
 * threads and semaphores (interposed), and what works in the background or between threads and is
 * not interposed: other aio_*, mq_*, remote procedure calls. Calls of them are no calls of missing
 * code: what orders threads inside (locks, pipes, signals) is interposed or modelled. Sorted:
 * looked up by bsearch().
 */
#ifndef HEDDLE_PASS_SYSTEM_LIST_H
#define HEDDLE_PASS_SYSTEM_LIST_H

#define SYSTEM_FUNCTIONS                                                                           \
    "a64l", "abort", "abs", "accept", "accept4", "access", "acct", "acos", "acosh", "addmntent",   \
        "addseverity", "adjtime", "adjtimex", "aio_error", "aio_error64", "aio_fsync",             \
        "aio_fsync64", "aio_read", "aio_read64", "aio_suspend", "aio_suspend64", "aio_write",      \
        "aio_write64", "alarm", "aligned_alloc", "alphasort", "alphasort64", "arc4random",         \
        "arc4random_buf", "arc4random_uniform", "arch_prctl", "argp_error", "argp_failure",        \
        "argp_help", "argp_parse", "argp_state_help", "argp_usage", "argz_add", "argz_add_sep",    \
        "argz_append", "argz_count", "argz_create", "argz_create_sep", "argz_delete",              \
        "argz_extract", "argz_insert", "argz_next", "argz_replace", "argz_stringify", "asctime",   \
        "asctime_r", "asin", "asinh", "asprintf", "atan", "atan2", "atanh", "atof", "atoi",        \
        "atol", "atoll", "backtrace", "backtrace_symbols", "backtrace_symbols_fd", "basename",     \
        "bcmp", "bcopy", "bdflush", "bind", "bind_textdomain_codeset", "bindresvport",             \
        "bindtextdomain", "brk", "bsd_signal", "bsearch", "btowc", "bzero", "c16rtomb",            \
        "c32rtomb", "c8rtomb", "cabs", "cacos", "cacosh", "call_once", "calloc", "canonicalize",   \
        "canonicalize_file_name", "capget", "capset", "carg", "casin", "casinh", "catan",          \
        "catanh", "catclose", "catgets", "catopen", "cbc_crypt", "cbrt", "ccos", "ccosh", "ceil",  \
        "cexp", "cfgetispeed", "cfgetospeed", "cfmakeraw", "cfree", "cfsetispeed", "cfsetospeed",  \
        "cfsetspeed", "chdir", "chflags", "chmod", "chown", "chroot", "cimag", "clearenv",         \
        "clearerr", "clearerr_unlocked", "clock", "clock_adjtime", "clock_getcpuclockid",          \
        "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime", "clog", "clog10",     \
        "clone", "close", "close_range", "closedir", "closefrom", "closelog", "confstr", "conj",   \
        "connect", "copy_file_range", "copysign", "cos", "cosh", "cpow", "cproj", "creal",         \
        "creat", "creat64", "create_module", "csin", "csinh", "csqrt", "ctan", "ctanh", "ctermid", \
        "ctime", "ctime_r", "cuserid", "daddl", "daemon", "dcgettext", "dcngettext", "ddivl",      \
        "delete_module", "des_setparity", "dfmal", "dgettext", "difftime", "dirfd", "dirname",     \
        "div", "dl_iterate_phdr", "dladdr", "dladdr1", "dlclose", "dlerror", "dlinfo", "dlmopen",  \
        "dlopen", "dlsym", "dlvsym", "dmull", "dn_comp", "dn_expand", "dn_skipname", "dngettext",  \
        "dprintf", "drand48", "drand48_r", "drem", "dsqrtl", "dsubl", "dup", "dup2", "dup3",       \
        "duplocale", "dysize", "eaccess", "ecb_crypt", "ecvt", "ecvt_r", "endaliasent",            \
        "endfsent", "endgrent", "endhostent", "endmntent", "endnetent", "endnetgrent",             \
        "endprotoent", "endpwent", "endrpcent", "endservent", "endsgent", "endspent", "endttyent", \
        "endusershell", "endutent", "endutxent", "envz_add", "envz_entry", "envz_get",             \
        "envz_merge", "envz_remove", "envz_strip", "epoll_create", "epoll_create1", "epoll_ctl",   \
        "epoll_pwait", "epoll_pwait2", "epoll_wait", "erand48", "erand48_r", "erf", "erfc", "err", \
        "error", "error_at_line", "errx", "ether_aton", "ether_aton_r", "ether_hostton",           \
        "ether_line", "ether_ntoa", "ether_ntoa_r", "ether_ntohost", "euidaccess", "eventfd",      \
        "eventfd_read", "eventfd_write", "execl", "execle", "execlp", "execv", "execve",           \
        "execveat", "execvp", "execvpe", "exit", "exp", "exp10", "exp2", "explicit_bzero",         \
        "expm1", "f32addf128", "f32addf32x", "f32addf64", "f32addf64x", "f32divf128",              \
        "f32divf32x", "f32divf64", "f32divf64x", "f32fmaf128", "f32fmaf32x", "f32fmaf64",          \
        "f32fmaf64x", "f32mulf128", "f32mulf32x", "f32mulf64", "f32mulf64x", "f32sqrtf128",        \
        "f32sqrtf32x", "f32sqrtf64", "f32sqrtf64x", "f32subf128", "f32subf32x", "f32subf64",       \
        "f32subf64x", "f32xaddf128", "f32xaddf64", "f32xaddf64x", "f32xdivf128", "f32xdivf64",     \
        "f32xdivf64x", "f32xfmaf128", "f32xfmaf64", "f32xfmaf64x", "f32xmulf128", "f32xmulf64",    \
        "f32xmulf64x", "f32xsqrtf128", "f32xsqrtf64", "f32xsqrtf64x", "f32xsubf128", "f32xsubf64", \
        "f32xsubf64x", "f64addf128", "f64addf64x", "f64divf128", "f64divf64x", "f64fmaf128",       \
        "f64fmaf64x", "f64mulf128", "f64mulf64x", "f64sqrtf128", "f64sqrtf64x", "f64subf128",      \
        "f64subf64x", "f64xaddf128", "f64xdivf128", "f64xfmaf128", "f64xmulf128", "f64xsqrtf128",  \
        "f64xsubf128", "fabs", "faccessat", "fadd", "fallocate", "fallocate64", "fanotify_init",   \
        "fanotify_mark", "fattach", "fchdir", "fchflags", "fchmod", "fchmodat", "fchown",          \
        "fchownat", "fclose", "fcloseall", "fcntl", "fcntl64", "fcvt", "fcvt_r", "fdatasync",      \
        "fdetach", "fdim", "fdiv", "fdopen", "fdopendir", "feclearexcept", "fedisableexcept",      \
        "feenableexcept", "fegetenv", "fegetexcept", "fegetexceptflag", "fegetmode", "fegetround", \
        "feholdexcept", "feof", "feof_unlocked", "feraiseexcept", "ferror", "ferror_unlocked",     \
        "fesetenv", "fesetexcept", "fesetexceptflag", "fesetmode", "fesetround", "fetestexcept",   \
        "fetestexceptflag", "feupdateenv", "fexecve", "fflush", "fflush_unlocked", "ffma", "ffs",  \
        "ffsl", "ffsll", "fgetc", "fgetc_unlocked", "fgetgrent", "fgetgrent_r", "fgetpos",         \
        "fgetpos64", "fgetpwent", "fgetpwent_r", "fgets", "fgets_unlocked", "fgetsgent",           \
        "fgetsgent_r", "fgetspent", "fgetspent_r", "fgetwc", "fgetwc_unlocked", "fgetws",          \
        "fgetws_unlocked", "fgetxattr", "fileno", "fileno_unlocked", "finite", "flistxattr",       \
        "flock", "flockfile", "floor", "fma", "fmax", "fmaximum", "fmaximum_mag",                  \
        "fmaximum_mag_num", "fmaximum_num", "fmaxmag", "fmemopen", "fmin", "fminimum",             \
        "fminimum_mag", "fminimum_mag_num", "fminimum_num", "fminmag", "fmod", "fmtmsg", "fmul",   \
        "fnmatch", "fopen", "fopen64", "fopencookie", "fork", "forkpty", "fpathconf", "fprintf",   \
        "fputc", "fputc_unlocked", "fputs", "fputs_unlocked", "fputwc", "fputwc_unlocked",         \
        "fputws", "fputws_unlocked", "fread", "fread_unlocked", "free", "freeaddrinfo",            \
        "freeifaddrs", "freelocale", "fremovexattr", "freopen", "freopen64", "frexp", "fromfp",    \
        "fromfpx", "fscanf", "fsconfig", "fseek", "fseeko", "fseeko64", "fsetpos", "fsetpos64",    \
        "fsetxattr", "fsmount", "fsopen", "fspick", "fsqrt", "fstat", "fstat64", "fstatat",        \
        "fstatat64", "fstatfs", "fstatfs64", "fstatvfs", "fstatvfs64", "fsub", "fsync", "ftell",   \
        "ftello", "ftello64", "ftime", "ftok", "ftruncate", "ftruncate64", "ftrylockfile",         \
        "fts64_children", "fts64_close", "fts64_open", "fts64_read", "fts64_set", "fts_children",  \
        "fts_close", "fts_open", "fts_read", "fts_set", "ftw", "ftw64", "funlockfile", "futimens", \
        "futimes", "futimesat", "fwide", "fwprintf", "fwrite", "fwrite_unlocked", "fwscanf",       \
        "gai_error", "gai_suspend", "gamma", "gcvt", "get_avphys_pages", "get_current_dir_name",   \
        "get_kernel_syms", "get_myaddress", "get_nprocs", "get_nprocs_conf", "get_phys_pages",     \
        "getaddrinfo", "getaddrinfo_a", "getaliasbyname", "getaliasbyname_r", "getaliasent",       \
        "getaliasent_r", "getauxval", "getc", "getc_unlocked", "getchar", "getchar_unlocked",      \
        "getcontext", "getcpu", "getcwd", "getdate", "getdate_r", "getdelim", "getdents64",        \
        "getdirentries", "getdirentries64", "getdomainname", "getdtablesize", "getegid",           \
        "getentropy", "getenv", "geteuid", "getfsent", "getfsfile", "getfsspec", "getgid",         \
        "getgrent", "getgrent_r", "getgrgid", "getgrgid_r", "getgrnam", "getgrnam_r",              \
        "getgrouplist", "getgroups", "gethostbyaddr", "gethostbyaddr_r", "gethostbyname",          \
        "gethostbyname2", "gethostbyname2_r", "gethostbyname_r", "gethostent", "gethostent_r",     \
        "gethostid", "gethostname", "getifaddrs", "getipv4sourcefilter", "getitimer", "getline",   \
        "getloadavg", "getlogin", "getlogin_r", "getmntent", "getmntent_r", "getmsg",              \
        "getnameinfo", "getnetbyaddr", "getnetbyaddr_r", "getnetbyname", "getnetbyname_r",         \
        "getnetent", "getnetent_r", "getnetgrent", "getnetgrent_r", "getnetname", "getopt",        \
        "getopt_long", "getopt_long_only", "getpagesize", "getpass", "getpayload", "getpeername",  \
        "getpgid", "getpgrp", "getpid", "getpmsg", "getppid", "getpriority", "getprotobyname",     \
        "getprotobyname_r", "getprotobynumber", "getprotobynumber_r", "getprotoent",               \
        "getprotoent_r", "getpt", "getpublickey", "getpw", "getpwent", "getpwent_r", "getpwnam",   \
        "getpwnam_r", "getpwuid", "getpwuid_r", "getrandom", "getresgid", "getresuid",             \
        "getrlimit", "getrlimit64", "getrpcbyname", "getrpcbyname_r", "getrpcbynumber",            \
        "getrpcbynumber_r", "getrpcent", "getrpcent_r", "getrpcport", "getrusage", "gets",         \
        "getsecretkey", "getservbyname", "getservbyname_r", "getservbyport", "getservbyport_r",    \
        "getservent", "getservent_r", "getsgent", "getsgent_r", "getsgnam", "getsgnam_r",          \
        "getsid", "getsockname", "getsockopt", "getsourcefilter", "getspent", "getspent_r",        \
        "getspnam", "getspnam_r", "getsubopt", "gettext", "gettid", "gettimeofday", "getttyent",   \
        "getttynam", "getuid", "getusershell", "getutent", "getutent_r", "getutid", "getutid_r",   \
        "getutline", "getutline_r", "getutmp", "getutmpx", "getutxent", "getutxid", "getutxline",  \
        "getw", "getwc", "getwc_unlocked", "getwchar", "getwchar_unlocked", "getwd", "getxattr",   \
        "glob", "glob64", "glob_pattern_p", "globfree", "globfree64", "gmtime", "gmtime_r",        \
        "gnu_dev_major", "gnu_dev_makedev", "gnu_dev_minor", "gnu_get_libc_release",               \
        "gnu_get_libc_version", "grantpt", "group_member", "gsignal", "gtty", "hasmntopt",         \
        "hcreate", "hcreate_r", "hdestroy", "hdestroy_r", "herror", "host2netname", "hsearch",     \
        "hsearch_r", "hstrerror", "htonl", "htons", "hypot", "iconv", "iconv_close", "iconv_open", \
        "if_freenameindex", "if_indextoname", "if_nameindex", "if_nametoindex", "ilogb",           \
        "imaxabs", "imaxdiv", "index", "inet6_opt_append", "inet6_opt_find", "inet6_opt_finish",   \
        "inet6_opt_get_val", "inet6_opt_init", "inet6_opt_next", "inet6_opt_set_val",              \
        "inet6_option_alloc", "inet6_option_append", "inet6_option_find", "inet6_option_init",     \
        "inet6_option_next", "inet6_option_space", "inet6_rth_add", "inet6_rth_getaddr",           \
        "inet6_rth_init", "inet6_rth_reverse", "inet6_rth_segments", "inet6_rth_space",            \
        "inet_addr", "inet_aton", "inet_lnaof", "inet_makeaddr", "inet_netof", "inet_network",     \
        "inet_nsap_addr", "inet_nsap_ntoa", "inet_ntoa", "inet_ntop", "inet_pton", "init_module",  \
        "initgroups", "initstate", "initstate_r", "innetgr", "inotify_add_watch", "inotify_init",  \
        "inotify_init1", "inotify_rm_watch", "insque", "ioctl", "ioperm", "iopl", "isalnum",       \
        "isalnum_l", "isalpha", "isalpha_l", "isascii", "isastream", "isatty", "isblank",          \
        "isblank_l", "iscntrl", "iscntrl_l", "isctype", "isdigit", "isdigit_l", "isfdtype",        \
        "isgraph", "isgraph_l", "isinf", "isinff", "isinfl", "islower", "islower_l", "isnan",      \
        "isnanf", "isnanl", "isprint", "isprint_l", "ispunct", "ispunct_l", "isspace",             \
        "isspace_l", "isupper", "isupper_l", "iswalnum", "iswalnum_l", "iswalpha", "iswalpha_l",   \
        "iswblank", "iswblank_l", "iswcntrl", "iswcntrl_l", "iswctype", "iswctype_l", "iswdigit",  \
        "iswdigit_l", "iswgraph", "iswgraph_l", "iswlower", "iswlower_l", "iswprint",              \
        "iswprint_l", "iswpunct", "iswpunct_l", "iswspace", "iswspace_l", "iswupper",              \
        "iswupper_l", "iswxdigit", "iswxdigit_l", "isxdigit", "isxdigit_l", "j0", "j1", "jn",      \
        "jrand48", "jrand48_r", "kill", "killpg", "klogctl", "l64a", "labs", "lchmod", "lchown",   \
        "lckpwdf", "lcong48", "lcong48_r", "ldexp", "ldiv", "lfind", "lgamma", "lgamma_r",         \
        "lgammaf128_r", "lgammaf32_r", "lgammaf32x_r", "lgammaf64_r", "lgammaf64x_r", "lgammaf_r", \
        "lgammal_r", "lgetxattr", "link", "linkat", "lio_listio", "lio_listio64", "listen",        \
        "listxattr", "llabs", "lldiv", "llistxattr", "llogb", "llrint", "llround", "llseek",       \
        "localeconv", "localtime", "localtime_r", "lockf", "lockf64", "log", "log10", "log1p",     \
        "log2", "logb", "login", "login_tty", "logout", "logwtmp", "longjmp", "lrand48",           \
        "lrand48_r", "lremovexattr", "lrint", "lround", "lsearch", "lseek", "lseek64",             \
        "lsetxattr", "lstat", "lstat64", "lutimes", "madvise", "makecontext", "mallinfo",          \
        "mallinfo2", "malloc", "malloc_info", "malloc_stats", "malloc_trim", "malloc_usable_size", \
        "mallopt", "matherr", "mblen", "mbrlen", "mbrtoc16", "mbrtoc32", "mbrtoc8", "mbrtowc",     \
        "mbsinit", "mbsnrtowcs", "mbsrtowcs", "mbstowcs", "mbtowc", "mcheck", "mcheck_check_all",  \
        "mcheck_pedantic", "mcount", "memalign", "memccpy", "memchr", "memcmp", "memcpy",          \
        "memfd_create", "memfrob", "memmem", "memmove", "mempcpy", "memrchr", "memset", "mincore", \
        "mkdir", "mkdirat", "mkdtemp", "mkfifo", "mkfifoat", "mknod", "mknodat", "mkostemp",       \
        "mkostemp64", "mkostemps", "mkostemps64", "mkstemp", "mkstemp64", "mkstemps",              \
        "mkstemps64", "mktemp", "mktime", "mlock", "mlock2", "mlockall", "mmap", "mmap64", "modf", \
        "modify_ldt", "moncontrol", "monstartup", "mount", "mount_setattr", "move_mount",          \
        "mprobe", "mprotect", "mrand48", "mrand48_r", "mremap", "msgctl", "msgget", "msgrcv",      \
        "msgsnd", "msync", "mtrace", "munlock", "munlockall", "munmap", "muntrace",                \
        "name_to_handle_at", "nan", "nanosleep", "nearbyint", "netname2host", "netname2user",      \
        "newlocale", "nextafter", "nextdown", "nexttoward", "nextup", "nfsservctl", "nftw",        \
        "nftw64", "ngettext", "nice", "nl_langinfo", "nl_langinfo_l", "nrand48", "nrand48_r",      \
        "ns_name_compress", "ns_name_ntop", "ns_name_pack", "ns_name_pton", "ns_name_skip",        \
        "ns_name_uncompress", "ns_name_unpack", "ntohl", "ntohs", "ntp_adjtime", "ntp_gettime",    \
        "ntp_gettimex", "obstack_free", "obstack_printf", "obstack_vprintf", "on_exit", "open",    \
        "open64", "open_by_handle_at", "open_memstream", "open_tree", "open_wmemstream", "openat", \
        "openat64", "opendir", "openlog", "openpty", "parse_printf_format", "passwd2des",          \
        "pathconf", "pause", "pclose", "perror", "personality", "pidfd_getfd", "pidfd_open",       \
        "pidfd_send_signal", "pipe", "pipe2", "pivot_root", "pkey_alloc", "pkey_free", "pkey_get", \
        "pkey_mprotect", "pkey_set", "poll", "popen", "posix_fadvise", "posix_fadvise64",          \
        "posix_fallocate", "posix_fallocate64", "posix_madvise", "posix_memalign", "posix_openpt", \
        "posix_spawn", "posix_spawn_file_actions_addchdir_np",                                     \
        "posix_spawn_file_actions_addclose", "posix_spawn_file_actions_addclosefrom_np",           \
        "posix_spawn_file_actions_adddup2", "posix_spawn_file_actions_addfchdir_np",               \
        "posix_spawn_file_actions_addopen", "posix_spawn_file_actions_addtcsetpgrp_np",            \
        "posix_spawn_file_actions_destroy", "posix_spawn_file_actions_init",                       \
        "posix_spawnattr_destroy", "posix_spawnattr_getflags", "posix_spawnattr_getpgroup",        \
        "posix_spawnattr_getschedparam", "posix_spawnattr_getschedpolicy",                         \
        "posix_spawnattr_getsigdefault", "posix_spawnattr_getsigmask", "posix_spawnattr_init",     \
        "posix_spawnattr_setflags", "posix_spawnattr_setpgroup", "posix_spawnattr_setschedparam",  \
        "posix_spawnattr_setschedpolicy", "posix_spawnattr_setsigdefault",                         \
        "posix_spawnattr_setsigmask", "posix_spawnp", "pow", "pow10", "ppoll", "prctl", "pread",   \
        "pread64", "preadv", "preadv2", "preadv64", "preadv64v2", "printf", "printf_size",         \
        "printf_size_info", "prlimit", "prlimit64", "process_madvise", "process_mrelease",         \
        "process_vm_readv", "process_vm_writev", "profil", "pselect", "psiginfo", "psignal",       \
        "ptrace", "ptsname", "ptsname_r", "putc", "putc_unlocked", "putchar", "putchar_unlocked",  \
        "putenv", "putgrent", "putmsg", "putpmsg", "putpwent", "puts", "putsgent", "putspent",     \
        "pututline", "pututxline", "putw", "putwc", "putwc_unlocked", "putwchar",                  \
        "putwchar_unlocked", "pvalloc", "pwrite", "pwrite64", "pwritev", "pwritev2", "pwritev64",  \
        "pwritev64v2", "qecvt", "qecvt_r", "qfcvt", "qfcvt_r", "qgcvt", "qsort", "qsort_r",        \
        "query_module", "quick_exit", "quotactl", "raise", "rand", "rand_r", "random", "random_r", \
        "rawmemchr", "rcmd", "rcmd_af", "re_comp", "re_compile_fastmap", "re_compile_pattern",     \
        "re_exec", "re_match", "re_match_2", "re_search", "re_search_2", "re_set_registers",       \
        "re_set_syntax", "read", "readahead", "readdir", "readdir64", "readdir64_r", "readdir_r",  \
        "readlink", "readlinkat", "readv", "realloc", "reallocarray", "realpath", "reboot",        \
        "recv", "recvfrom", "recvmmsg", "recvmsg", "regcomp", "regerror", "regexec", "regfree",    \
        "register_printf_function", "register_printf_modifier", "register_printf_specifier",       \
        "register_printf_type", "registerrpc", "remainder", "remap_file_pages", "remove",          \
        "removexattr", "remque", "remquo", "rename", "renameat", "renameat2", "res_dnok",          \
        "res_hnok", "res_mailok", "res_mkquery", "res_nmkquery", "res_nquery", "res_nquerydomain", \
        "res_nsearch", "res_nsend", "res_ownok", "res_query", "res_querydomain", "res_search",     \
        "res_send", "revoke", "rewind", "rewinddir", "rindex", "rint", "rmdir", "round",           \
        "roundeven", "rpmatch", "rresvport", "rresvport_af", "rtime", "ruserpass", "sbrk",         \
        "scalb", "scalbln", "scalbn", "scandir", "scandir64", "scandirat", "scandirat64", "scanf", \
        "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getcpu",   \
        "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",      \
        "sched_setparam", "sched_setscheduler", "sched_yield", "secure_getenv", "seed48",          \
        "seed48_r", "seekdir", "select", "semctl", "semget", "semop", "semtimedop", "send",        \
        "sendfile", "sendfile64", "sendmmsg", "sendmsg", "sendto", "setaliasent", "setbuf",        \
        "setbuffer", "setcontext", "setdomainname", "setegid", "setenv", "seteuid", "setfsent",    \
        "setfsgid", "setfsuid", "setgid", "setgrent", "setgroups", "sethostent", "sethostid",      \
        "sethostname", "setipv4sourcefilter", "setitimer", "setjmp", "setlinebuf", "setlocale",    \
        "setlogin", "setlogmask", "setmntent", "setnetent", "setnetgrent", "setns", "setpayload",  \
        "setpayloadsig", "setpgid", "setpgrp", "setpriority", "setprotoent", "setpwent",           \
        "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setrlimit64", "setrpcent", \
        "setservent", "setsgent", "setsid", "setsockopt", "setsourcefilter", "setspent",           \
        "setstate", "setstate_r", "settimeofday", "setttyent", "setuid", "setusershell",           \
        "setutent", "setutxent", "setvbuf", "setxattr", "sgetsgent", "sgetsgent_r", "sgetspent",   \
        "sgetspent_r", "shm_open", "shm_unlink", "shmat", "shmctl", "shmdt", "shmget", "shutdown", \
        "sigabbrev_np", "sigaction", "sigaddset", "sigaltstack", "sigandset", "sigblock",          \
        "sigdelset", "sigdescr_np", "sigemptyset", "sigfillset", "siggetmask", "sighold",          \
        "sigignore", "siginterrupt", "sigisemptyset", "sigismember", "siglongjmp", "signal",       \
        "signalfd", "significand", "sigorset", "sigpause", "sigpending", "sigprocmask",            \
        "sigqueue", "sigrelse", "sigreturn", "sigset", "sigsetmask", "sigstack", "sigsuspend",     \
        "sigtimedwait", "sigvec", "sigwait", "sigwaitinfo", "sin", "sincos", "sinh", "sleep",      \
        "snprintf", "sockatmark", "socket", "socketpair", "splice", "sprintf", "sprofil", "sqrt",  \
        "srand", "srand48", "srand48_r", "srandom", "srandom_r", "sscanf", "ssignal", "sstk",      \
        "stat", "stat64", "statfs", "statfs64", "statvfs", "statvfs64", "statx", "stime",          \
        "stpcpy", "stpncpy", "strcasecmp", "strcasecmp_l", "strcasestr", "strcat", "strchr",       \
        "strchrnul", "strcmp", "strcoll", "strcoll_l", "strcpy", "strcspn", "strdup", "strerror",  \
        "strerror_l", "strerror_r", "strerrordesc_np", "strerrorname_np", "strfmon", "strfmon_l",  \
        "strfromd", "strfromf", "strfromf128", "strfromf32", "strfromf32x", "strfromf64",          \
        "strfromf64x", "strfroml", "strfry", "strftime", "strftime_l", "strlen", "strncasecmp",    \
        "strncasecmp_l", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk",         \
        "strptime", "strptime_l", "strrchr", "strsep", "strsignal", "strspn", "strstr", "strtod",  \
        "strtod_l", "strtof", "strtof128", "strtof128_l", "strtof32", "strtof32_l", "strtof32x",   \
        "strtof32x_l", "strtof64", "strtof64_l", "strtof64x", "strtof64x_l", "strtof_l",           \
        "strtoimax", "strtok", "strtok_r", "strtol", "strtol_l", "strtold", "strtold_l",           \
        "strtoll", "strtoll_l", "strtoq", "strtoul", "strtoul_l", "strtoull", "strtoull_l",        \
        "strtoumax", "strtouq", "strverscmp", "strxfrm", "strxfrm_l", "stty", "swab",              \
        "swapcontext", "swapoff", "swapon", "swprintf", "swscanf", "symlink", "symlinkat", "sync", \
        "sync_file_range", "syncfs", "syscall", "sysconf", "sysctl", "sysinfo", "syslog",          \
        "system", "sysv_signal", "tan", "tanh", "tcdrain", "tcflow", "tcflush", "tcgetattr",       \
        "tcgetpgrp", "tcgetsid", "tcsendbreak", "tcsetattr", "tcsetpgrp", "tdelete", "tdestroy",   \
        "tee", "telldir", "tempnam", "textdomain", "tfind", "tgamma", "tgkill", "time", "timegm",  \
        "timelocal", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",          \
        "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime", "times",          \
        "timespec_get", "timespec_getres", "tmpfile", "tmpfile64", "tmpnam", "tmpnam_r",           \
        "toascii", "tolower", "tolower_l", "totalorder", "totalordermag", "toupper", "toupper_l",  \
        "towctrans", "towctrans_l", "towlower", "towlower_l", "towupper", "towupper_l",            \
        "tr_break", "trunc", "truncate", "truncate64", "tsearch", "ttyname", "ttyname_r",          \
        "ttyslot", "twalk", "twalk_r", "tzset", "ualarm", "ufromfp", "ufromfpx", "ulckpwdf",       \
        "ulimit", "umask", "umount", "umount2", "uname", "ungetc", "ungetwc", "unlink",            \
        "unlinkat", "unlockpt", "unsetenv", "unshare", "updwtmp", "updwtmpx", "uselib",            \
        "uselocale", "user2netname", "usleep", "ustat", "utime", "utimensat", "utimes",            \
        "utmpname", "utmpxname", "valloc", "vasprintf", "vdprintf", "verr", "verrx",               \
        "versionsort", "versionsort64", "vfork", "vfprintf", "vfscanf", "vfwprintf", "vfwscanf",   \
        "vhangup", "vlimit", "vmsplice", "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf",  \
        "vswprintf", "vswscanf", "vsyslog", "vtimes", "vwarn", "vwarnx", "vwprintf", "vwscanf",    \
        "wait", "wait3", "wait4", "waitid", "waitpid", "warn", "warnx", "wcpcpy", "wcpncpy",       \
        "wcrtomb", "wcscasecmp", "wcscasecmp_l", "wcscat", "wcschr", "wcschrnul", "wcscmp",        \
        "wcscoll", "wcscoll_l", "wcscpy", "wcscspn", "wcsdup", "wcsftime", "wcsftime_l", "wcslen", \
        "wcsncasecmp", "wcsncasecmp_l", "wcsncat", "wcsncmp", "wcsncpy", "wcsnlen", "wcsnrtombs",  \
        "wcspbrk", "wcsrchr", "wcsrtombs", "wcsspn", "wcsstr", "wcstod", "wcstod_l", "wcstof",     \
        "wcstof128", "wcstof128_l", "wcstof32", "wcstof32_l", "wcstof32x", "wcstof32x_l",          \
        "wcstof64", "wcstof64_l", "wcstof64x", "wcstof64x_l", "wcstof_l", "wcstoimax", "wcstok",   \
        "wcstol", "wcstol_l", "wcstold", "wcstold_l", "wcstoll", "wcstoll_l", "wcstombs",          \
        "wcstoq", "wcstoul", "wcstoul_l", "wcstoull", "wcstoull_l", "wcstoumax", "wcstouq",        \
        "wcswcs", "wcswidth", "wcsxfrm", "wcsxfrm_l", "wctob", "wctomb", "wctrans", "wctrans_l",   \
        "wctype", "wctype_l", "wcwidth", "wmemchr", "wmemcmp", "wmemcpy", "wmemmove", "wmempcpy",  \
        "wmemset", "wordexp", "wordfree", "wprintf", "write", "writev", "wscanf", "xdecrypt",      \
        "xencrypt", "y0", "y1", "yn"

#endif
