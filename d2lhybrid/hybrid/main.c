/* Computes what the network in net.c computes, without Python.

   Build it:  cc -std=c99 -O3 -fopenmp-simd -ffp-contract=off -march=native main.c net.c -o net -lm
   Run it:    ./net weights.bin < rows.txt
   Time it:   ./net weights.bin 1000 < rows.txt

   It reads numbers, separated by blanks or line ends, INPUT_SIZE of them for each row of the
   batch, and prints the result of each row on a line. With a number of calls, it computes the
   batch that often, and prints the mean time of a call instead, in seconds of processor time.
   Errors go to standard error, with exit status 1. */

#include "net.h" /* before the library headers, whose macros could change names in it */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char *message, ...)
{
    va_list values;
    va_start(values, message);
    fputs("net: ", stderr);
    vfprintf(stderr, message, values);
    fputs("\n", stderr);
    exit(EXIT_FAILURE);
}

/* `old`, resized to `count` numbers, and one more: realloc may return NULL for a size of 0. */
static float *room(float *old, size_t count)
{
    float *memory = realloc(old, (count + 1) * sizeof(float));
    if (memory == NULL)
        fail("there is no memory for %zu numbers", count);
    return memory;
}

/* The weights begin at a multiple of 64 bytes, as PyTorch's do: a processor that reads 64 bytes in
   one step would otherwise fetch them from two places each time. `memory` is what to free. */
static float *read_weights(const char *path, size_t count, float **memory)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail("%s: %s", path, strerror(errno));
    *memory = room(NULL, count + 64 / sizeof(float));
    float *weights = *memory + (64 - (uintptr_t)*memory % 64) / sizeof(float);
    if (fread(weights, sizeof(float), count, file) != count || getc(file) != EOF ||
        ferror(file))
        fail("%s is not the %zu bytes of this network's weights", path, count * sizeof(float));
    fclose(file);
    return weights;
}

/* All numbers on standard input. Their number is stored in `count`. */
static float *read_numbers(size_t *count)
{
    char word[1000], *end;
    size_t most = INPUT_SIZE;
    float *numbers = room(NULL, most);
    for (*count = 0; scanf("%999s", word) == 1; ++*count) {
        if (*count == most)
            numbers = room(numbers, most *= 2);
        numbers[*count] = strtof(word, &end);
        if (end == word || *end != '\0' || end == word + 999) /* longer than `word`, perhaps */
            fail("item %zu of the input is not a number: %.40s", *count + 1, word);
    }
    if (ferror(stdin))
        fail("the input cannot be read: %s", strerror(errno));
    return numbers;
}

int main(int argc, char **argv)
{
    static const size_t starts[] = PARAMETER_STARTS;
    enum { STARTS = sizeof starts / sizeof *starts };

    char *rest = "";
    const long calls = argc == 3 ? strtol(argv[2], &rest, 10) : 1;
    if (argc < 2 || argc > 3 || *rest != '\0' || calls < 1)
        fail("usage: net WEIGHTS [CALLS] < ROWS, where CALLS is a whole number above 0");
    const unsigned one = 1;
    if (*(const unsigned char *)&one != 1)
        fail("the weights are little-endian, and this machine is big-endian");

    float *memory, *weights = read_weights(argv[1], starts[STARTS - 1], &memory);
    const float *parameters[STARTS]; /* the last address is the end of all */
    for (size_t k = 0; k < STARTS; k++)
        parameters[k] = weights + starts[k];

    size_t count;
    float *x = read_numbers(&count);
    const size_t n = count / INPUT_SIZE;
    if (count % INPUT_SIZE != 0)
        fail("the input has %zu numbers, and a row has %zu", count, (size_t)INPUT_SIZE);
    float *y = room(NULL, n * OUTPUT_SIZE);

    const clock_t begin = clock();
    for (long i = 0; i < calls; i++)
        if (forward((ptrdiff_t)n, x, y, parameters) != 0)
            fail("there is no memory for a batch of %zu rows", n);
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;

    if (argc == 3)
        printf("%.9g\n", seconds / (double)calls);
    for (size_t row = 0; argc == 2 && row < n; row++) {
        for (size_t i = 0; i < OUTPUT_SIZE; i++)
            printf("%s%.9g", i ? " " : "", y[row * OUTPUT_SIZE + i]);
        putchar('\n');
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("the results cannot be written: %s", strerror(errno));
    free(y);
    free(x);
    free(memory);
    return 0;
}
