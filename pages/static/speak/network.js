const relu = x => (x < 0 ? 0 : x);

// The sum of k products: of x, and of row i of w.
function dot(k, x, w, i) {
    let sum = 0;
    for (let j = 0; j < k; j++) sum += w[i * k + j] * x[j];
    return sum;
}

function network(input, parameters) {
    const [weight_0, bias_0, weight_2, bias_2, weight_4, bias_4] = parameters;
    // v2 = relu(linear(input, weight_0, bias_0))
    const v2 = new Float32Array(256);
    for (let i = 0; i < 256; i++) {
        const v1 = dot(512, input, weight_0, i) + bias_0[i];
        v2[i] = relu(v1);
    }
    // v4 = relu(linear(v2, weight_2, bias_2))
    const v4 = new Float32Array(128);
    for (let i = 0; i < 128; i++) {
        const v3 = dot(256, v2, weight_2, i) + bias_2[i];
        v4[i] = relu(v3);
    }
    // v5 = linear(v4, weight_4, bias_4)
    const v5 = new Float32Array(32);
    for (let i = 0; i < 32; i++) {
        v5[i] = dot(128, v4, weight_4, i) + bias_4[i];
    }
    return v5;
}
