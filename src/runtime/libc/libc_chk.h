/* libc_chk.h - libc functions that headers refer to and do not declare (or not always)
 *
 * The fortified twins have the size of the destination as an additional argument.
 */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_CHK_H
#define HEDDLE_RUNTIME_LIBC_LIBC_CHK_H

extern void *__memcpy_chk(void *d, const void *s, size_t n, size_t room);
extern void *__memmove_chk(void *d, const void *s, size_t n, size_t room);
extern void *__mempcpy_chk(void *d, const void *s, size_t n, size_t room);
extern void *__memset_chk(void *d, int c, size_t n, size_t room);
extern void __explicit_bzero_chk(void *d, size_t n, size_t room);
extern char *__strcpy_chk(char *d, const char *s, size_t room);
extern char *__stpcpy_chk(char *d, const char *s, size_t room);
extern char *__strncpy_chk(char *d, const char *s, size_t n, size_t room);
extern char *__stpncpy_chk(char *d, const char *s, size_t n, size_t room);
extern int __xpg_strerror_r(int error, char *buffer, size_t n);
extern char *__strcat_chk(char *d, const char *s, size_t room);
extern char *__strncat_chk(char *d, const char *s, size_t n, size_t room);
extern char *__strdup(const char *s);

extern int __printf_chk(int flag, const char *fmt, ...);
extern int __fprintf_chk(FILE *f, int flag, const char *fmt, ...);
extern int __dprintf_chk(int fd, int flag, const char *fmt, ...);
extern int __sprintf_chk(char *d, int flag, size_t room, const char *fmt, ...);
extern int __snprintf_chk(char *d, size_t n, int flag, size_t room, const char *fmt, ...);
extern int __asprintf_chk(char **d, int flag, const char *fmt, ...);
extern int __vprintf_chk(int flag, const char *fmt, va_list ap);
extern int __vfprintf_chk(FILE *f, int flag, const char *fmt, va_list ap);
extern int __vdprintf_chk(int fd, int flag, const char *fmt, va_list ap);
extern int __vsprintf_chk(char *d, int flag, size_t room, const char *fmt, va_list ap);
extern int __vsnprintf_chk(char *d, size_t n, int flag, size_t room, const char *fmt, va_list ap);
extern int __vasprintf_chk(char **d, int flag, const char *fmt, va_list ap);

extern int __isoc99_scanf(const char *fmt, ...);
extern int __isoc99_fscanf(FILE *f, const char *fmt, ...);
extern int __isoc99_sscanf(const char *s, const char *fmt, ...);
extern int __isoc99_vscanf(const char *fmt, va_list ap);
extern int __isoc99_vfscanf(FILE *f, const char *fmt, va_list ap);
extern int __isoc99_vsscanf(const char *s, const char *fmt, va_list ap);

/* glibc 2.38 and later; weak, so that older ones link. */
#define SINCE_2_38 __attribute__((weak))
extern SINCE_2_38 int __isoc23_scanf(const char *fmt, ...);
extern SINCE_2_38 int __isoc23_fscanf(FILE *f, const char *fmt, ...);
extern SINCE_2_38 int __isoc23_sscanf(const char *s, const char *fmt, ...);
extern SINCE_2_38 int __isoc23_vscanf(const char *fmt, va_list ap);
extern SINCE_2_38 int __isoc23_vfscanf(FILE *f, const char *fmt, va_list ap);
extern SINCE_2_38 int __isoc23_vsscanf(const char *s, const char *fmt, va_list ap);
extern SINCE_2_38 long __isoc23_strtol(const char *s, char **end, int base);
extern SINCE_2_38 unsigned long __isoc23_strtoul(const char *s, char **end, int base);
extern SINCE_2_38 long long __isoc23_strtoll(const char *s, char **end, int base);
extern SINCE_2_38 unsigned long long __isoc23_strtoull(const char *s, char **end, int base);

extern size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *f);
extern char *__fgets_chk(char *s, size_t room, int n, FILE *f);
extern ssize_t __read_chk(int fd, void *p, size_t n, size_t room);
extern ssize_t __pread_chk(int fd, void *p, size_t n, off_t at, size_t room);
extern ssize_t __pread64_chk(int fd, void *p, size_t n, off64_t at, size_t room);
extern ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *p, size_t n, size_t room, int flags,
                              struct sockaddr *from, socklen_t *from_bytes);
extern int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
extern char *__getcwd_chk(char *p, size_t n, size_t room);
extern char *__realpath_chk(const char *path, char *p, size_t room);
extern ssize_t __readlink_chk(const char *path, char *p, size_t n, size_t room);
extern int __gethostname_chk(char *p, size_t n, size_t room);

#endif
