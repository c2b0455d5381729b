// SSE2 intrinsics, unaligned: the sixteen bytes from buffer + 3.
// race: a b
// flags: -O2
#include "prog.h"
#include <emmintrin.h>

char buffer[64];

THREAD(first)
{
    _mm_storeu_si128((__m128i *)(buffer + 3), _mm_set1_epi8(7)); // [a]
    return NULL;
}

THREAD(second)
{
    buffer[18] = 1; // [b]
    buffer[19] = 1;
    buffer[2] = 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
