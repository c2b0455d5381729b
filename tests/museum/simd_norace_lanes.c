// Each thread fills its 16-byte blocks of a common buffer by vector stores.
// issue: https://github.com/openwall/john/issues/1980
// tool: ThreadSanitizer
// there: false alarm; a hundred reports at vector stores; its users doubted them
// verdict: no race; the blocks of different threads have no byte in common
#include "prog.h"
#include <emmintrin.h>

__m128i buffer[8];

static void *work(void *arg)
{
    int first = *(int *)arg;

    for (int i = first; i < 8; i += 2)
        _mm_store_si128(&buffer[i], _mm_set1_epi32(i));
    return NULL;
}

int main(void)
{
    int ids[] = { 0, 1 };
    pthread_t a = start(work, &ids[0]), b = start(work, &ids[1]);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return _mm_cvtsi128_si32(buffer[7]) - 7;
}
