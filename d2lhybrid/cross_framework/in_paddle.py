"""The course's network in PaddlePaddle, see notebook 17."""

import os
from functools import partial

from d2lhybrid import import_framework

os.environ["MIN_GRAPH_SIZE"] = "0"  # or a graph of fewer than ten operations is left to Python
paddle = import_framework("paddle")
nn = paddle.nn
from_bytecode = partial(paddle.jit.to_static, full_graph=False)
from_source = partial(paddle.jit.to_static, full_graph=True)
compilers = {"Paddle, bytecode": from_bytecode, "Paddle, source": from_source}


def network(weights):
    """Return the network as a Sequential with these weights."""
    layers = []
    for matrix, bias in weights:
        layers += [nn.Linear(*matrix.shape), nn.ReLU()]
        layers[-2].weight.set_value(matrix)
        layers[-2].bias.set_value(bias)
    return nn.Sequential(*layers[:-1])


def eager(weights, x, compiler=lambda net: net):
    """Return a function that runs what `compiler` makes of the network, on `x`."""
    net, x = network(weights), paddle.to_tensor(x)
    for parameter in net.parameters():
        parameter.stop_gradient = True
    compiled = compiler(net)
    return lambda: compiled(x)


bytecode = partial(eager, compiler=from_bytecode)
source = partial(eager, compiler=from_source)


def train_eager(weights, x, target, rate, compiler=lambda net: net):
    """Return a function that makes one step of training and returns the loss from before it."""
    net, x, target = network(weights), paddle.to_tensor(x), paddle.to_tensor(target)
    optimizer = paddle.optimizer.SGD(rate, net.parameters())
    compiled = compiler(net)

    def step():
        loss = ((compiled(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return float(loss)

    return step


train_bytecode = partial(train_eager, compiler=from_bytecode)
train_source = partial(train_eager, compiler=from_source)
