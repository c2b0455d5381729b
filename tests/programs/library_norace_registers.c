// The calls into the runtime keep registers that the dynamic linker, binding them late, would not.
// library: library_registers.c traced
// stdout: 47 176 181 4 167 125 205 140
// flags: -O1
// flags: -O2
#include "prog.h"

void mix(unsigned char *to, const unsigned char *from, int n);
unsigned char from[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, to[8];

int main(void)
{
    mix(to, from, 8);
    for (int i = 0; i < 8; i++)
        printf("%d%s", to[i], i < 7 ? " " : "\n");
    return 0;
}
