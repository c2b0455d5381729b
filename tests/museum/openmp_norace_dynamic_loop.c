// A loop with a dynamic schedule, whose threads are libomp's.
// issue: https://github.com/unitaryfoundation/clifft/pull/30
// tool: ThreadSanitizer
// there: false alarm; pthread_mutex_init against pthread_mutex_lock of the workers in libomp
// verdict: no race; each iteration has its element
// flags: -fopenmp
int state[32];

int main(void)
{
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for schedule(dynamic, 3) num_threads(4)
        for (int i = 0; i < 32; i++)
            state[i] += i;
    }
    return state[31] - 93;
}
