/* pingpong - a player takes the ball away while others play with it
 *
 * After the benchmark of the IBM contest: the shared player is set to null for a moment and put
 * back; who finds none counts a miss (the original dies of a null pointer). Observed: each thread
 * finds the player. Races: all looks at and changes of the pointer; the hits of the player, which
 * are counted without a lock; the misses, reached only by a thread that runs while another has the
 * player.
 */
// find mc: player player?
// find recipe: miss miss
// true: player player
// true: player player?
// true: hits hits
// true: miss miss
// never: start player?
// never: start hits
// stdout: 4 hits, 0 misses
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3 };

struct player {
    int hits;
};

static struct player ping = { 0 };
static struct player *player;
static int misses;

static void *play(void *arg)
{
    struct player *mine = player; // [player?]

    if (mine == NULL) {
        misses++; // [miss]
        return arg;
    }
    mine->hits++;  // [hits]
    player = NULL; // [player]
    player = mine; // [player]
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];

    ping.hits = 1;  // [start]
    player = &ping; // [start]
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, play, NULL);
        usleep(10000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%d hits, %d misses\n", ping.hits, misses);
    return 0;
}
