/* Computes what the network in net.c computes, without Python.

   Build it:  cc -std=c99 -O3 -fopenmp-simd -ffp-contract=off -fno-math-errno -fno-trapping-math -march=native main.c net.c -o net -lm
   Run it:    ./net weights.bin < rows.txt
   Time it:   ./net weights.bin 1000 < rows.txt

   It reads numbers, separated by blanks or line ends, INPUT_SIZE of them for each row of the
   batch, and prints the result of each row on a line. With a number of calls, it computes the
   batch that often, and prints the mean time of a call instead, in seconds of processor time.
   An error ends it with status 1 and a line on standard error. */

#include "net.h" /* before the library headers, whose macros could change names in it */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void require(int condition, const char *message)
{
    if (!condition) {
        fprintf(stderr, "net: %s\n", message);
        exit(EXIT_FAILURE);
    }
}

/* `old`, resized to `count` numbers, and one more: realloc may return NULL for a size of 0. */
static float *resized(float *old, size_t count)
{
    float *memory = realloc(old, (count + 1) * sizeof(float));
    require(memory != NULL, "there is no memory");
    return memory;
}

int main(int argc, char **argv)
{
    static const size_t starts[] = PARAMETER_STARTS;
    enum { STARTS = sizeof starts / sizeof *starts };
    const long calls = argc == 3 ? strtol(argv[2], NULL, 10) : 1;
    require((argc == 2 || argc == 3) && calls > 0, "usage: net WEIGHTS [CALLS] < ROWS");
    const unsigned one = 1;
    require(*(const unsigned char *)&one == 1, "the weights are little-endian, not this machine");

    /* The weights begin at a multiple of 64 bytes, as PyTorch's do: a processor that reads 64
       bytes in one step would otherwise fetch them from two places each time. */
    const size_t all = starts[STARTS - 1]; /* where the last one ends */
    float *memory = resized(NULL, all + 64 / sizeof(float));
    float *weights = memory + (64 - (uintptr_t)memory % 64) / sizeof(float);
    FILE *file = fopen(argv[1], "rb");
    require(file && fread(weights, sizeof(float), all, file) == all && getc(file) == EOF,
            "these are not this network's weights");
    fclose(file);
    const float *parameters[STARTS];
    for (size_t k = 0; k < STARTS; k++)
        parameters[k] = weights + starts[k];

    float *x = NULL;
    size_t count = 0, room = 0;
    do {
        if (count == room)
            x = resized(x, room = 2 * room + INPUT_SIZE);
    } while (scanf("%f", &x[count]) == 1 && ++count);
    require(feof(stdin) && count % INPUT_SIZE == 0, "the input is not rows of numbers");

    const size_t n = count / INPUT_SIZE;
    float *y = resized(NULL, n * OUTPUT_SIZE);
    const clock_t begin = clock();
    for (long i = 0; i < calls; i++)
        require(forward((ptrdiff_t)n, x, y, parameters) == 0, "there is no memory");
    if (argc == 3)
        printf("%.9g\n", (double)(clock() - begin) / CLOCKS_PER_SEC / (double)calls);
    for (size_t i = 0; argc == 2 && i < n * OUTPUT_SIZE; i++)
        printf("%.9g%c", y[i], (i + 1) % OUTPUT_SIZE ? ' ' : '\n');
    require(fflush(stdout) == 0 && !ferror(stdout), "the results cannot be written");
    free(y);
    free(x);
    free(memory);
    return 0;
}
