/* part of library_race_traced.c, library_race_dlopen.c */
int shared;

void library_write(void)
{
    shared = 2; // [b]
}
