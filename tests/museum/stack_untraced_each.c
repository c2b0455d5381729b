// Calls a function several times.
void each(int times, void (*call)(void));

void each(int times, void (*call)(void))
{
    for (int i = 0; i < times; i++)
        call();
}
