/* library.c - for stress.c and build: a library with sites of its own, opened again and again */
unsigned library_cells[64];
unsigned library_work(unsigned n);
unsigned library_work(unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        library_cells[i] = i;
    for (volatile unsigned *c = library_cells; c < library_cells + n; c++)
        sum += *c;
    return sum;
}
