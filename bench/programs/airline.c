/* airline - sellers of tickets look at the counter without the lock and sell with it */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SELLERS = 4, SEATS = 120, TRIES = 60 };

static pthread_mutex_t office = PTHREAD_MUTEX_INITIALIZER;
static int seats_left = SEATS;
static int passenger[SEATS]; /* guarded by office */
static int sold_by[SELLERS]; /* of each seller, read by main after joining */
static int stop_sales, attempts, cheapest = 1000;
static pthread_t threads[SELLERS];
static int numbers[SELLERS];

static void enter_office(void)
{
    pthread_mutex_lock(&office);
}

static void leave_office(void)
{
    pthread_mutex_unlock(&office);
}

static int looks_full(void)
{
    return seats_left == 0; /* RACE seats */
}

static void sell_one(int seller)
{
    if (seats_left > 0) {
        seats_left--; /* RACE seats! */
        passenger[seats_left] = seller + 1;
        sold_by[seller]++;
    }
}

static void quote(int seller, int i)
{
    int price = 900 - 3 * i + seller;

    attempts++;           /* RACE attempts */
    if (price < cheapest) /* RACE price */
        cheapest = price; /* RACE price */
}

static int may_sell(void)
{
    return !stop_sales; /* RACE stop */
}

static void give_up(void)
{
    stop_sales = 1; /* RACE stop */
}

static void *sell(void *arg)
{
    int seller = *(int *)arg;

    for (int i = 0; i < TRIES && may_sell(); i++) {
        quote(seller, i);
        if (looks_full())
            give_up();
        enter_office();
        sell_one(seller);
        leave_office();
        if (i % 8 == 7)
            usleep(100); /* let the others run */
    }
    return NULL;
}

static void start(void)
{
    for (int i = 0; i < SELLERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, sell, &numbers[i]))
            exit(1);
    }
}

static void finish(void)
{
    for (int i = 0; i < SELLERS; i++)
        pthread_join(threads[i], NULL);
}

static void count(void)
{
    int sold = 0, seated = 0;

    for (int i = 0; i < SELLERS; i++)
        sold += sold_by[i];
    for (int i = 0; i < SEATS; i++)
        seated += passenger[i] != 0;
    printf("%s\n",
           sold == seated && sold + seats_left == SEATS ? "all seats accounted for" : "lost");
}

int main(void)
{
    start();
    finish();
    count();
    return 0;
}
