/* airline - threads sell tickets until one of them sees that the flight is full
 *
 * After the benchmark of the IBM contest: each ticket is a thread; main stops making threads when
 * StopSales is set, and takes the last sale back. Nothing is locked. A sale counts, then looks
 * whether that was too much. Observed: the sellers run one after another; the flight is full at the
 * sixth. Everything that two threads do is a race, but for what a seat's number keeps apart: a seat
 * is only written by who counted it, and two threads can count the same one.
 */
// find mc: sold sold
// find recipe: refused refused
// vars: sold stop seat refused
// never: end sold
// never: end seat
// stdout: 6 of 6 seats, 1 refused, first 1
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TICKETS = 8, CAPACITY = 6 };

static int seats_sold, stop_sales, refused;
static int passenger[CAPACITY + 1];

static void *sale(void *arg)
{
    int me = *(int *)arg;

    seats_sold++;                // [sold]
    if (seats_sold > CAPACITY) { // [sold]
        stop_sales = 1;          // [stop]
        refused++;               // [refused]
    } else {
        passenger[seats_sold] = me; // [sold] [seat]
    }
    return NULL;
}

int main(void)
{
    int numbers[TICKETS], started = 0;
    pthread_t sellers[TICKETS];

    for (int i = 0; i < TICKETS; i++) {
        numbers[i] = i + 1;
        if (stop_sales) { // [stop]
            seats_sold--; // [sold] [back]
            break;
        }
        pthread_create(&sellers[started++], NULL, sale, &numbers[i]);
        usleep(10000);
    }
    for (int i = 0; i < started; i++)
        pthread_join(sellers[i], NULL);
    printf("%d of %d seats, %d refused, first %d\n", seats_sold, CAPACITY, refused,
           passenger[1]); // [end]
    return 0;
}
