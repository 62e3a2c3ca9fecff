"""The course's network in TensorFlow, see notebook 15: with Keras' layers, and without."""

from functools import partial

from d2lhybrid import import_framework

tf = import_framework("tensorflow")
with_xla = partial(tf.function, jit_compile=True)
compilers = {"tf.function": tf.function}


def keras_network(weights, x):
    """Return the network as a Sequential of Keras with these weights, for inputs like `x`."""
    layers = [tf.keras.layers.Dense(len(bias), "relu") for _, bias in weights[:-1]]
    last = tf.keras.layers.Dense(len(weights[-1][1]))
    net = tf.keras.Sequential([tf.keras.Input(x.shape[1:]), *layers, last])
    net.set_weights([array for pair in weights for array in pair])
    return net


def eager_keras(weights, x, compiler=lambda net: net):
    """Return a function that runs what `compiler` makes of Keras' network, on `x`."""
    compiled, x = compiler(keras_network(weights, x)), tf.constant(x)
    return lambda: compiled(x)


def predict_keras(weights, x):  # it compiles by itself, takes NumPy's arrays and returns them
    net = keras_network(weights, x)
    return lambda: net.predict_on_batch(x)


function_keras = partial(eager_keras, compiler=tf.function)
xla_keras = partial(eager_keras, compiler=with_xla)


def variables_of(weights):
    """Return the weights as TensorFlow's variables: (matrix, bias) for each layer."""
    return [tuple(map(tf.Variable, pair)) for pair in weights]


def network(variables, x):
    """Run the network on a tensor (rows, inputs), without Keras."""
    (a, b), (c, d), (e, f) = variables
    hidden = tf.nn.relu(x @ a + b)
    hidden = tf.nn.relu(hidden @ c + d)
    return hidden @ e + f


def eager(weights, x, compiler=lambda net: net):
    """Return a function that runs what `compiler` makes of the network, on `x`."""
    variables, x = variables_of(weights), tf.constant(x)
    compiled = compiler(lambda x: network(variables, x))
    return lambda: compiled(x)


function = partial(eager, compiler=tf.function)
xla = partial(eager, compiler=with_xla)


def concrete(weights, x):  # the program for this one signature, without the search for it
    signature = tf.TensorSpec(x.shape, x.dtype)
    return eager(weights, x, lambda net: tf.function(net).get_concrete_function(signature))


def train_eager(weights, x, target, rate, compiler=lambda step: step):
    """Return a function that makes one step of training and returns the loss from before it."""
    variables = variables_of(weights)
    every = [variable for pair in variables for variable in pair]
    x, target = tf.constant(x), tf.constant(target)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((network(variables, x) - target) ** 2)
        for variable, gradient in zip(every, tape.gradient(loss, every), strict=True):
            variable.assign_sub(rate * gradient)
        return loss

    compiled = compiler(step)
    return lambda: float(compiled())


train_function = partial(train_eager, compiler=tf.function)
train_xla = partial(train_eager, compiler=with_xla)
