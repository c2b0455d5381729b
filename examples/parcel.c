#include <pthread.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int parcel, seen_by[2];
void sign(int who) { pthread_mutex_lock(&lock); seen_by[who] = 1; pthread_mutex_unlock(&lock); }
void *sender(void *arg) { parcel = 42; sign(0); return NULL; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sender, NULL);
    usleep(100000), sign(1);
    return parcel == 42 ? pthread_join(thread, NULL) : 1;
}
