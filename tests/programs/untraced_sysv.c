/* untraced_sysv.c - three ways to hand over of which the caller passes nothing: a System V
 * semaphore, a message queue, the existence of a file */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

static int semaphore, queue;
static char name[] = "/tmp/heddle-XXXXXX";

void sysv_begin(void)
{
    int fd = mkstemp(name);

    close(fd);
    unlink(name);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    semctl(semaphore, 0, SETVAL, 0);
    queue = msgget(IPC_PRIVATE, 0600);
}

void sysv_end(void)
{
    semctl(semaphore, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
}

void sysv_post(void)
{
    struct sembuf up = { 0, 1, 0 };

    semop(semaphore, &up, 1);
}

void sysv_wait(void)
{
    struct sembuf down = { 0, -1, 0 };

    while (semop(semaphore, &down, 1))
        ;
}

void sysv_send(void)
{
    struct {
        long kind;
        char text[1];
    } m = { 1, { 0 } };

    msgsnd(queue, &m, 1, 0);
}

void sysv_receive(void)
{
    struct {
        long kind;
        char text[1];
    } m;

    while (msgrcv(queue, &m, 1, 0, 0) < 0)
        ;
}

void sysv_make(void)
{
    close(open(name, O_CREAT | O_WRONLY, 0600));
}

void sysv_find(void)
{
    while (access(name, F_OK))
        usleep(1000);
    unlink(name);
}
