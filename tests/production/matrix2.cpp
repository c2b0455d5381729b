// matrix2.cpp - the second unit: the same inline functions, and a loop that is vectorised
#include "matrix.h"

long second(cell *list, long *cells, int n)
{
    long sum = 0;
    double half = 0;
    for (int i = 0; i < n; i++)
        sum += cells[i];
    for (cell *c = push(list, 3); c; c = c->next) {
        half += 0.5 * (double)c->value;
        if (c->value == 3 && c->next == list) {
            cell *rest = c->next;
            delete c;
            return sum + (long)half + find(rest, 0);
        }
    }
    return sum;
}
