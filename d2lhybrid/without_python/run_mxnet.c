// Runs a network that MXNet has exported, without Python. Notebook 16 builds it.
//
//     ./run my_mlp-symbol.json my_mlp-0000.params < row.txt
//
// It reads one row of 512 numbers, and prints the two results.

#include <stdbool.h> // MXNet's header needs these two, and does not say so
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mxnet/c_predict_api.h>

int MXSetIsNumpyShape(int on, int *before); // in MXNet's library, but not in that header

static void check(int failed, const char *why)
{
    if (failed) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static char *contents(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    check(!file, path);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *bytes = calloc(*size + 1, 1); // a text must end with a zero
    check(fread(bytes, 1, *size, file) != (size_t)*size, path);
    fclose(file);
    return bytes;
}

int main(int count, char **words)
{
    check(count != 3, "usage: run SYMBOL.json WEIGHTS.params < row.txt");
    float x[512], y[2];
    for (int i = 0; i < 512; i++)
        check(scanf("%f", &x[i]) != 1, "a row has 512 numbers");

    int before;
    long length, size;
    char *graph = contents(words[1], &length);
    char *weights = contents(words[2], &size);
    const char *names[] = {"data"};
    mx_uint starts[] = {0, 2}, shape[] = {1, 512};
    PredictorHandle net;
    MXSetIsNumpyShape(1, &before); // as `npx.set_np()` does in Python
    int failed = MXPredCreate(graph, weights, size, 1, 0, 1, names, starts, shape, &net)
              || MXPredSetInput(net, "data", x, 512)
              || MXPredForward(net)
              || MXPredGetOutput(net, 0, y, 2);
    check(failed, MXGetLastError());
    printf("%.9g %.9g\n", y[0], y[1]);
}
