/* calls_other.c - traced, but main's compiler does not know */
long traced_elsewhere(long n, long *p);
extern long (*traced_pointer)(long, long *);

long traced_elsewhere(long n, long *p)
{
    return *p += n;
}

long (*traced_pointer)(long, long *) = traced_elsewhere;
