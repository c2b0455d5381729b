// Files that appear and vanish tell others to go on.
// gcc: also
#include "prog.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { ROUNDS = 6 };

char directory[] = "names-XXXXXX", names[ROUNDS][40];
int x[ROUNDS];

static void make(const char *name)
{
    close(open(name, O_CREAT | O_WRONLY, 0600));
}

static void change(int round)
{
    char other[60];
    FILE *f;
    switch (round) {
    case 0:
        make(names[0]);
        break;
    case 1:
        f = fopen(names[1], "w");
        fclose(f);
        break;
    case 2:
        mkdir(names[2], 0700);
        break;
    case 3:
        unlink(names[3]);
        break;
    case 4:
        rmdir(names[4]);
        break;
    default:
        snprintf(other, sizeof other, "%s/other", directory);
        make(other);
        rename(other, names[5]);
    }
}

static int is_there(int round)
{
    struct stat st;
    DIR *d;
    int fd;
    switch (round) {
    case 0:
        return access(names[0], F_OK) == 0;
    case 1:
    case 5:
        return stat(names[round], &st) == 0;
    case 3:
        fd = open(names[3], O_RDONLY);
        return fd >= 0 && close(fd) == 0;
    default:
        d = opendir(names[round]);
        return d && closedir(d) == 0;
    }
}

THREAD(first)
{
    for (int i = 0; i < ROUNDS; i++) {
        x[i] = 1;
        change(i);
    }
    return NULL;
}

THREAD(second)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (is_there(i) == (i == 3 || i == 4))
            pause_ms(1);
        x[i] = 2;
    }
    return NULL;
}

int main(void)
{
    if (!mkdtemp(directory))
        return 1;
    for (int i = 0; i < ROUNDS; i++)
        snprintf(names[i], sizeof names[i], "%s/%d", directory, i);
    make(names[3]);
    mkdir(names[4], 0700);
    run_two(first, second);
    for (int i = 0; i < ROUNDS; i++)
        remove(names[i]);
    return rmdir(directory);
}
