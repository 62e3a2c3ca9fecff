/* Calls `forward`, which is in the text before this one, several times. compiler.c_loop uses it. */
int repeat(ptrdiff_t times, ptrdiff_t n, const float *x, float *y, const float *const *parameters)
{
    for (; times > 0; times--)
        if (forward(n, x, y, parameters))
            return 1;
    return 0;
}
