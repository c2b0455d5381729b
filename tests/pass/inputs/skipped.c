/* What cannot race, and what another access covers. */
extern void sink(void *p);
extern void unknown(void);
static const int table[] = { 1, 2, 3 };
static _Thread_local int mine;
static _Thread_local int given;
volatile int shared;
struct {
    volatile int a, b;
} both;

int locals(int n)
{
    volatile int array[8];
    for (int i = 0; i < n; i++)
        array[i & 7] = i;
    return array[n & 7] + table[n % 3] + mine++;
}

int escaping(int n)
{
    volatile int kept = n;
    sink((void *)&kept);
    sink(&given);
    return kept + given;
}

int twice(void)
{
    return shared + shared; /* one read */
}

int write_then_read(void)
{
    shared = 1;
    return shared; /* covered */
}

int read_then_write(void)
{
    int was = shared;
    shared = 2; /* an update */
    return was;
}

int call_between(void)
{
    int was = shared;
    unknown();
    return was + shared; /* two reads */
}

int join(int n)
{
    if (n)
        shared = 1;
    else
        both.a = shared;
    return shared; /* read or written on both paths: covered */
}

int one_path(int n)
{
    if (n)
        both.b = 1;
    return both.b; /* not covered */
}

int loop(volatile int *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i] + shared; /* a new address each time; shared once per turn */
    return sum;
}

int fence_between(void)
{
    int was = shared;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return was + shared;
}
