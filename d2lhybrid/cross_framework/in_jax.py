"""The course's network in JAX, see notebook 14."""

from functools import partial

from d2lhybrid import import_framework

jax = import_framework("jax")
jnp = jax.numpy
compilers = {"jax.jit": jax.jit}


def network(params, x):
    (a, b), (c, d), (e, f) = params
    hidden = jnp.maximum(x @ a + b, 0)
    hidden = jnp.maximum(hidden @ c + d, 0)
    return hidden @ e + f


def with_relu(params, x):  # the same arithmetic, by JAX's own function
    (a, b), (c, d), (e, f) = params
    hidden = jax.nn.relu(x @ a + b)
    hidden = jax.nn.relu(hidden @ c + d)
    return hidden @ e + f


def eager(weights, x, compiler=lambda net: net, net=network):
    params, x = jax.tree.map(jnp.array, (weights, x))
    compiled = compiler(net)
    return lambda: compiled(params, x).block_until_ready()


def jit(weights, x):
    return eager(weights, x, jax.jit)


def eager_relu(weights, x):
    return eager(weights, x, net=with_relu)


jit_relu = partial(eager, compiler=jax.jit, net=with_relu)


def train_eager(weights, x, target, rate, compiler=lambda step: step):
    """Return a function that makes one step of training and returns the loss from before it."""
    params, x, target = jax.tree.map(jnp.array, (weights, x, target))

    def loss_of(params):
        return ((network(params, x) - target) ** 2).mean()

    def updated(params):
        loss, gradients = jax.value_and_grad(loss_of)(params)
        return loss, jax.tree.map(lambda p, g: p - rate * g, params, gradients)

    compiled = compiler(updated)

    def step():
        nonlocal params
        loss, params = compiled(params)
        return float(loss)

    return step


train_jit = partial(train_eager, compiler=jax.jit)
