"""The course's network in MXNet, see notebook 16."""

from functools import partial

from d2lhybrid import import_framework

mx = import_framework("mxnet")
nn, np = mx.gluon.nn, mx.np
mx.npx.set_np()


def compiled(function):
    """Return a function as a hybridized block, since MXNet compiles only blocks."""
    block = nn.HybridLambda(lambda F, x: function(x))
    block.hybridize()
    return block


compilers = {"MXNet": compiled}


def network(weights):
    """Return the network as a HybridSequential with these weights."""
    net = nn.HybridSequential()
    for matrix, bias in weights:
        relu = None if bias is weights[-1][1] else "relu"
        net.add(nn.Dense(len(bias), activation=relu, in_units=len(matrix)))
    net.initialize()
    for layer, (matrix, bias) in zip(net, weights, strict=True):
        layer.weight.set_data(np.array(matrix.T))
        layer.bias.set_data(np.array(bias))
    return net


def eager(weights, x, compiler=lambda net: None):
    """Return a function that runs the network on `x`; `compiler(net)` first changes the network."""
    net, x = network(weights), np.array(x)
    compiler(net)  # it changes the network itself

    def run():
        result = net(x)
        result.wait_to_read()
        return result

    return run


hybridize = nn.HybridBlock.hybridize
# Memory is planned once for all calls.
hybridize_statically = partial(hybridize, static_alloc=True, static_shape=True)
hybridized = partial(eager, compiler=hybridize)
static = partial(eager, compiler=hybridize_statically)


def train_eager(weights, x, target, rate, compiler=lambda net: None):
    """Return a function that makes one step of training and returns the loss from before it."""
    net, x, target = network(weights), np.array(x), np.array(target)
    compiler(net)
    # kvstore=None: there is one device, so nothing has to be exchanged between several.
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate}, kvstore=None)

    def step():
        with mx.autograd.record():
            loss = ((net(x) - target) ** 2).mean()
        loss.backward()
        trainer.step(1)
        return float(loss)

    return step


train_static = partial(train_eager, compiler=hybridize_statically)
