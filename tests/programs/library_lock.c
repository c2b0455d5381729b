/* library_lock.c - a lock in assembly, given back by a volatile store */
void take_lock(volatile int *lock);
void take_lock(volatile int *lock)
{
    int old = 1;
    do
        __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(*lock) : : "memory");
    while (old);
}

void give_lock(volatile int *lock);
void give_lock(volatile int *lock)
{
    __asm__ volatile("" : : : "memory");
    *lock = 0;
}
