/* pingpong - two players have the ball in turn; a referee looks without asking */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 150 };

static struct {
    int speed, spin, hits;
} ball; /* of the player whose turn it is */
static sem_t turn[2];
static int score[2], game_over, seen, misses;
static pthread_t threads[3];
static int numbers[2] = { 0, 1 };

static void wait_for_turn(int player)
{
    sem_wait(&turn[player]);
}

static void pass_on(int player)
{
    sem_post(&turn[!player]);
}

static void hit(int player)
{
    ball.speed = (ball.speed * 3 + player + 1) % 50;
    ball.spin += ball.speed & 3;
    ball.hits++; /* RACE hits! */
}

static void keep_score(int player)
{
    if (ball.speed == 0)
        score[player]++; /* RACE score! */
    if (ball.spin % 5 == 4)
        misses++;
}

static void *play(void *arg)
{
    int player = *(int *)arg;

    for (int i = 0; i < ROUNDS; i++) {
        wait_for_turn(player);
        hit(player);
        keep_score(player);
        pass_on(player);
    }
    game_over = 1; /* RACE over */
    return NULL;
}

static int look(void)
{
    return ball.hits + score[0] + score[1]; /* RACE hits, RACE score */
}

static int is_over(void)
{
    return game_over; /* RACE over */
}

static void *referee(void *arg)
{
    while (!is_over() && seen < 100000) {
        seen += look() >= 0;
        usleep(100);
    }
    return arg;
}

static void start(void)
{
    sem_init(&turn[0], 0, 1);
    sem_init(&turn[1], 0, 0);
    if (pthread_create(&threads[0], NULL, play, &numbers[0]) ||
        pthread_create(&threads[1], NULL, play, &numbers[1]) ||
        pthread_create(&threads[2], NULL, referee, NULL))
        exit(1);
}

static void finish(void)
{
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void report(void)
{
    printf("%d hits, misses %s\n", ball.hits, misses < 0 ? "?" : "counted");
}

int main(void)
{
    start();
    finish();
    report();
    return 0;
}
