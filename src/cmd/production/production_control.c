/* production_control.c - the control file: made, found, changed, and swept away
 *
 * The file outlives the program: what was seen is there however it ended. It is removed when the
 * command ends; processes that still run keep their mapping, and nothing else of them depends on
 * it.
 *
 * A command that is killed cannot remove it. So it holds a lock on the file for as long as it lives
 * (of the open file, so that the kernel gives it up with the process, and from before the file has
 * a name); a file of ours that nobody holds is removed by the next command. Files that somebody
 * looks at later (`heddle fleet`, by its spool) are not `disposable` and stay. Files of caper stand
 * beside its state, and the next command that uses that state takes what is in them
 * (caper_table.c).
 */
#include "base/alloc.h"
#include "cmd/common.h"
#include "cmd/production/production.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TAKE_UP_POLL_MS = 5 };

/* What the runtime can keep of a path. */
enum { PATH_BYTES = 511 };

/* A file system with less than that is small (64 MiB in containers) and others need it, too. */
enum { ROOM_BYTES = 32 << 20 };

static void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

/* ---- the file ---- */

static bool is_writable_directory(const char *path)
{
    return path && path[0] == '/' && access(path, W_OK | X_OK) == 0;
}

static bool has_room(const char *path)
{
    struct statvfs v;

    return statvfs(path, &v) == 0 && v.f_bavail >= ROOM_BYTES / v.f_frsize;
}

/* In memory rather than on a disk, where unlinking it alone may take 10 ms. */
static const char *folder(void)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR"), *memory = "/dev/shm";

    if (is_writable_directory(run))
        return run;
    if (is_writable_directory(tmp))
        return tmp;
    return is_writable_directory(memory) && has_room(memory) ? memory : "/tmp";
}

/* Its first byte: one holder at a time, until the last descriptor of this opening is closed. */
static bool lock(int fd, int how)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    int r;

    do
        r = fcntl(fd, how, &l);
    while (r < 0 && errno == EINTR);
    return r == 0;
}

/* false: somebody else holds it. */
static bool hold(int fd)
{
    return lock(fd, F_OFD_SETLK);
}

static int map_file(struct production *p)
{
    void *m = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);

    if (m == MAP_FAILED)
        return own_failure("cannot map the control file '%s': %s", p->path, strerror(errno));
    madvise(m, p->bytes, MADV_RANDOM); /* most of it stays empty: nothing to read ahead */
    p->control = m;
    return 0;
}

/* Where it will be: beside `stem`, or in the user's folder; with the X of mkostemp(). Absolute,
 * since the program may change its directory. */
static char *template(const char *stem)
{
    char *here = stem && stem[0] != '/' ? getcwd(NULL, 0) : NULL, *path;

    if (stem)
        path = xasprintf("%s%s%s" CONTROL_RUN "XXXXXX", here ? here : "", here ? "/" : "", stem);
    else
        path = xasprintf("%s/" CONTROL_PREFIX "XXXXXX", folder());
    free(here);
    return path;
}

/* A name, and held before anything in it says what it is. Who looks for files that nobody holds may
 * hold it before we do, and removes it then: we wait until it is done, and make another. */
static int name_file(struct production *p, const char *stem)
{
    struct stat st = { 0 };

    while (!st.st_nlink) {
        if (p->fd >= 0)
            close(p->fd);
        free(p->path);
        p->path = template(stem);
        if (strlen(p->path) > PATH_BYTES || strchr(p->path, '\n'))
            return own_failure("cannot make a control file: the path '%s' is too long or contains "
                               "a line end",
                               p->path);
        p->fd = mkostemp(p->path, O_CLOEXEC);
        if (p->fd < 0)
            return own_failure("cannot make the control file '%s': %s", p->path, strerror(errno));
        (void)fchmod(p->fd, 0600); /* whatever the umask */
        lock(p->fd, F_OFD_SETLKW);
        if (fstat(p->fd, &st) < 0)
            break;
    }
    p->made = true;
    return 0;
}

static int make_file(struct production *p, const char *stem)
{
    int code = name_file(p, stem), failure;

    if (code)
        return code;
    failure = posix_fallocate(p->fd, 0, (off_t)p->bytes);
    if (failure)
        return own_failure("cannot make room for the control file '%s': %s", p->path,
                           strerror(failure));
    return map_file(p);
}

int production_open(struct production *p, enum prod_mode_kind mode, size_t extra_bytes)
{
    return production_open_at(p, mode, extra_bytes, NULL);
}

int production_open_at(struct production *p, enum prod_mode_kind mode, size_t extra_bytes,
                       const char *stem)
{
    int code;

    *p = (struct production){ .fd = -1, .bytes = sizeof(struct prod_control) + extra_bytes };
    code = make_file(p, stem);
    if (code) {
        production_close(p);
        return code;
    }
    memcpy(p->control->magic, PROD_MAGIC, sizeof(p->control->magic));
    p->control->version = PROD_VERSION;
    p->control->mode = mode;
    /* the fleet's runs of chase are read later; what stands beside something belongs to that */
    p->control->disposable = mode != PROD_CHASE && !stem;
    p->control->generation = 2; /* not what `taken_up` is before it is */
    return 0;
}

bool production_adopt(struct production *p, const char *path)
{
    struct stat st;

    *p = (struct production){ .path = xstrndup(path, strlen(path)) };
    p->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (p->fd < 0 || !hold(p->fd) || fstat(p->fd, &st) < 0 || !st.st_nlink) {
        production_close(p);
        return false;
    }
    p->bytes = (size_t)st.st_size;
    if (p->bytes >= sizeof(struct prod_control) && map_file(p) == 0 &&
        (memcmp(p->control->magic, PROD_MAGIC, sizeof(p->control->magic)) != 0 ||
         p->control->version != PROD_VERSION)) {
        munmap(p->control, p->bytes);
        p->control = NULL;
    }
    return true;
}

void production_close(struct production *p)
{
    if (p->control)
        munmap(p->control, p->bytes);
    if (p->made) /* while it is locked: who waits for the lock must not go on with it */
        unlink(p->path);
    if (p->path && p->fd >= 0)
        close(p->fd);
    free(p->path);
    *p = (struct production){ .fd = -1 };
}

/* ---- files of commands that were killed ---- */

static bool maps_file(const char *pid, const char *path)
{
    char *name = xasprintf("/proc/%s/maps", pid), *line = NULL;
    FILE *maps = fopen(name, "re");
    bool found = false;
    size_t cap = 0;

    while (maps && !found && getline(&line, &cap, maps) > 0)
        found = strstr(line, path) != NULL;
    if (maps)
        fclose(maps);
    free(line);
    free(name);
    return found;
}

bool production_is_mapped(const char *path)
{
    DIR *proc = opendir("/proc");
    const struct dirent *d;
    bool found = false;
    char own[32];

    snprintf(own, sizeof(own), "%d", (int)getpid());
    while (proc && !found && (d = readdir(proc)))
        if (d->d_name[0] >= '0' && d->d_name[0] <= '9' && strcmp(d->d_name, own) != 0)
            found = maps_file(d->d_name, path);
    if (proc)
        closedir(proc);
    return found;
}

/* Ours, of this version, to be thrown away, and held by nobody. */
static bool is_orphan(int fd)
{
    struct prod_control head;
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           pread(fd, &head, offsetof(struct prod_control, site), 0) ==
               (ssize_t)offsetof(struct prod_control, site) &&
           memcmp(head.magic, PROD_MAGIC, sizeof(head.magic)) == 0 &&
           head.version == PROD_VERSION && head.disposable && hold(fd);
}

/* The name may have become another file's only if that was one of ours, too. */
static void sweep_one(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return;
    if (is_orphan(fd))
        unlinkat(folder_fd, name, 0);
    close(fd);
}

void production_sweep(void)
{
    DIR *d = opendir(folder());
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (strncmp(e->d_name, CONTROL_PREFIX, strlen(CONTROL_PREFIX)) == 0)
            sweep_one(dirfd(d), e->d_name);
    if (d)
        closedir(d);
}

/* ---- a process that runs ---- */

/* As /proc has it: 'R', 'S', 'T' ...; 'Z' for one that has ended, 0 for none. */
static char state_of(pid_t pid)
{
    char *name = xasprintf("/proc/%d/stat", (int)pid), text[512] = "", *end;
    FILE *f = fopen(name, "re");
    char state = 0;

    if (f && fgets(text, sizeof(text), f) && (end = strrchr(text, ')')) && end[1] == ' ')
        state = end[2];
    if (f)
        fclose(f);
    free(name);
    return state;
}

bool production_has_ended(const struct production *p)
{
    char state = state_of(p->pid);

    return !state || state == 'Z' || state == 'X';
}

/* The path of a line of /proc/PID/maps, if that maps a control file. */
static const char *control_in_line(char *line, ino_t *inode)
{
    unsigned long number;
    int at = 0;
    char *name;

    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%*s %*s %*s %*s %lu %n", &number, &at) < 1 || !at)
        return NULL;
    name = strrchr(line + at, '/');
    if (!name || strncmp(name + 1, CONTROL_PREFIX, strlen(CONTROL_PREFIX)) != 0)
        return NULL;
    *inode = number;
    return line + at;
}

static int no_control(pid_t pid)
{
    return bad_input("process %d has no control file: it was not started by 'heddle chase', or is "
                     "no program built with 'heddle-cc --production'",
                     (int)pid);
}

/* Owned by the caller; NULL where the process maps none. */
static char *find_control(FILE *maps, ino_t *inode)
{
    char *line = NULL, *path = NULL;
    size_t cap = 0;

    while (!path && getline(&line, &cap, maps) > 0) {
        const char *found = control_in_line(line, inode);

        path = found ? xstrndup(found, strlen(found)) : NULL;
    }
    free(line);
    return path;
}

static int is_gone(const struct production *p, pid_t pid)
{
    return bad_input("the control file '%s' of process %d is gone: the command that started it has "
                     "ended",
                     p->path, (int)pid);
}

static int check_control(const struct production *p, pid_t pid, ino_t inode)
{
    struct stat st;

    if (fstat(p->fd, &st) < 0 || st.st_ino != inode)
        return is_gone(p, pid);
    if ((size_t)st.st_size < sizeof(struct prod_control))
        return bad_input("'%s' is no control file", p->path);
    return 0;
}

static int open_control(struct production *p, pid_t pid, ino_t inode)
{
    struct stat st;
    int code;

    p->fd = open(p->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (p->fd < 0 && errno == ENOENT)
        return is_gone(p, pid);
    if (p->fd < 0)
        return bad_input("cannot open the control file '%s' of process %d: %s", p->path, (int)pid,
                         strerror(errno));
    code = check_control(p, pid, inode);
    if (code)
        return code;
    p->bytes = fstat(p->fd, &st) == 0 ? (size_t)st.st_size : 0;
    code = map_file(p);
    if (code == 0 && (memcmp(p->control->magic, PROD_MAGIC, sizeof(p->control->magic)) != 0 ||
                      p->control->version != PROD_VERSION))
        code = bad_input("'%s' is no control file of this version of heddle", p->path);
    return code;
}

/* Another user's process can be seen, but not looked at: the kernel says so when we try. */
static int cannot_look(pid_t pid, int failure)
{
    if (failure == ENOENT || failure == ESRCH)
        return bad_input("cannot look at process %d: there is none", (int)pid);
    return bad_input("cannot look at process %d: %s%s", (int)pid, strerror(failure),
                     failure == EACCES || failure == EPERM ? " (it belongs to another user)" : "");
}

static FILE *open_maps(pid_t pid)
{
    char *name = xasprintf("/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    int failure = errno;

    free(name);
    errno = failure;
    return maps;
}

int production_attach(struct production *p, pid_t pid)
{
    FILE *maps = open_maps(pid);
    ino_t inode = 0;
    int code;

    *p = (struct production){ .fd = -1, .pid = pid };
    if (!maps)
        return cannot_look(pid, errno);
    p->path = find_control(maps, &inode);
    fclose(maps);
    if (p->path)
        code = open_control(p, pid, inode);
    else
        code =
            production_has_ended(p) ? bad_input("process %d has ended", (int)pid) : no_control(pid);
    if (code)
        production_close(p);
    return code;
}

static void wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool production_change(struct production *p, void (*fill)(struct prod_control *c, void *arg),
                       void *arg, unsigned patience_ms)
{
    struct prod_control *c = p->control;
    uint32_t now;

    flock(p->fd, LOCK_EX);
    now = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE);
    now += now & 1; /* a command that was killed in the middle */
    __atomic_store_n(&c->generation, now + 1, __ATOMIC_SEQ_CST);
    fill(c, arg);
    __atomic_store_n(&c->generation, now + 2, __ATOMIC_SEQ_CST);
    flock(p->fd, LOCK_UN);
    wake(&c->generation);
    for (unsigned ms = 0; ms < patience_ms && !production_has_ended(p); ms += TAKE_UP_POLL_MS) {
        if (__atomic_load_n(&c->taken_up, __ATOMIC_ACQUIRE) == now + 2)
            return true;
        sleep_ms(TAKE_UP_POLL_MS);
    }
    return false;
}
