// Pointers that other threads get in parts or in disguise: as halves, bytes, a double, a product of
// masks and shifts, in 128 bits, in a string of bits.
// pair: half_w half_r
// pair: byte_w byte_r
// pair: real_w real_r
// pair: xor_w xor_r
// pair: high_w high_r
// pair: wide_w wide_r
// pair: union_w union_r
// pair: packed_w packed_r
// pair: atomic_w atomic_r
// pair: called_w called_r
// never: own_w own_w
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEY UINT64_C(0x5555555555555555)

static uint32_t low, high;
static unsigned char bytes[8];
static double real;
static uint64_t mixed, shifted, bits;
static unsigned __int128 wide;
static union {
    void *pointer;
    uint16_t quarter[4];
} parts;
static struct __attribute__((packed)) {
    char tag;
    int *pointer;
} packed;
static unsigned char called[8];
static int ready;

__attribute__((noinline)) static void copy_bytes(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

__attribute__((noinline)) static void put_byte(int i, unsigned char c)
{
    called[i] = c;
}

__attribute__((noinline)) static unsigned char get_byte(int i)
{
    return called[i];
}

static void *run(void *arg)
{
    uint16_t quarter[4];
    uint64_t word;
    int *p;

    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    word = (uint64_t)high << 32 | low;
    ++*(int *)(uintptr_t)word; // [half_r]
    copy_bytes(&p, bytes, 8);
    ++*p; // [byte_r]
    memcpy(&p, &real, 8);
    ++*p;                                        // [real_r]
    ++*(int *)(uintptr_t)(mixed ^ KEY);          // [xor_r]
    ++*(int *)(uintptr_t)(shifted >> 16);        // [high_r]
    ++*(int *)(uintptr_t)(uint64_t)(wide >> 64); // [wide_r]
    for (int i = 0; i < 4; i++)
        quarter[i] = parts.quarter[i];
    memcpy(&p, quarter, 8);
    ++*p;                                                          // [union_r]
    ++*packed.pointer;                                             // [packed_r]
    ++*(int *)(uintptr_t)__atomic_load_n(&bits, __ATOMIC_ACQUIRE); // [atomic_r]
    word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)get_byte(i) << 8 * i;
    ++*(int *)(uintptr_t)word; // [called_r]
    return arg;
}

__attribute__((noinline)) static void publish(void)
{
    int *half = malloc(4), *byte = malloc(4), *r = malloc(4), *x = malloc(4), *h = malloc(4);
    int *w = malloc(4), *u = malloc(4), *pk = malloc(4), *a = malloc(4), *c = malloc(4);
    int *own = malloc(4);

    low = (uint32_t)(uintptr_t)half;
    high = (uint32_t)((uintptr_t)half >> 32);
    copy_bytes(bytes, &byte, 8);
    memcpy(&real, &r, 8);
    mixed = (uintptr_t)x ^ KEY;
    shifted = (uintptr_t)h << 16;
    wide = (unsigned __int128)(uintptr_t)w << 64;
    memcpy(&parts, &u, 8);
    packed.pointer = pk;
    __atomic_fetch_or(&bits, (uintptr_t)a, __ATOMIC_RELEASE);
    for (int i = 0; i < 8; i++)
        put_byte(i, (unsigned char)((uintptr_t)c >> 8 * i));
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    *half = 1; // [half_w]
    *byte = 1; // [byte_w]
    *r = 1;    // [real_w]
    *x = 1;    // [xor_w]
    *h = 1;    // [high_w]
    *w = 1;    // [wide_w]
    *u = 1;    // [union_w]
    *pk = 1;   // [packed_w]
    *a = 1;    // [atomic_w]
    *c = 1;    // [called_w]
    *own = 1;  // [own_w]
    free(own);
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, 0, run, 0);
    publish();
    pthread_join(t, 0);
    return 0;
}
