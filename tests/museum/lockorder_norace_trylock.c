// A session locks itself, then its connection; the connection only tries to lock the session.
// issue: https://github.com/apache/trafficserver/issues/3226
// tool: ThreadSanitizer
// there: false alarm; as its users suspected: inversions of the mutexes of session and connection
// verdict: no deadlock; who only tries does not wait
#include "prog.h"

static pthread_mutex_t session = PTHREAD_MUTEX_INITIALIZER, connection = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(session_event)
{
    pthread_mutex_lock(&session);
    pthread_mutex_lock(&connection);
    x++;
    pthread_mutex_unlock(&connection);
    pthread_mutex_unlock(&session);
    return NULL;
}

THREAD(connection_event)
{
    pthread_mutex_lock(&connection);
    if (!pthread_mutex_trylock(&session)) {
        x++;
        pthread_mutex_unlock(&session);
    }
    pthread_mutex_unlock(&connection);
    return NULL;
}

int main(void)
{
    run_two(session_event, connection_event);
    return 0;
}
