"""The course's network in PyTorch, see notebooks 05 and 10."""

from functools import partial

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

from d2lhybrid import quiet


def compiled(function):
    """Return the function, compiled anew by torch.compile with the backend "eager"."""
    quiet()
    torch.compiler.reset()  # nothing that was compiled before is used again
    # This backend runs each graph as it was captured, and needs no C++ compiler.
    return torch.compile(function, backend="eager")


compilers = {"torch.compile": compiled}


def network(weights):
    """Return the network as a Sequential with these weights."""
    layers = []
    for matrix, bias in weights:
        layers += [nn.Linear(*matrix.shape), nn.ReLU()]
        layers[-2].weight.data.copy_(torch.tensor(matrix.T))
        layers[-2].bias.data.copy_(torch.tensor(bias))
    return nn.Sequential(*layers[:-1])


def eager(weights, x, compiler=lambda net: net):
    """Return a function that runs what `compiler` makes of the network, on `x`."""
    net, x = network(weights).requires_grad_(False), torch.tensor(x)
    compiled = compiler(net)
    return lambda: compiled(x)


torchscript = partial(eager, compiler=torch.jit.script)
torch_compile = partial(eager, compiler=torch.compile)


def train_eager(weights, x, target, rate, compiler=lambda loss: loss):
    """Return a function that makes one step of training and returns the loss from before it.

    `compiler` gets the function that computes the loss.
    """
    net, x, target = network(weights), torch.tensor(x), torch.tensor(target)
    optimizer = torch.optim.SGD(net.parameters(), rate)
    loss_of_net = compiler(lambda: ((net(x) - target) ** 2).mean())

    def step():
        optimizer.zero_grad()
        loss = loss_of_net()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


train_torch_compile = partial(train_eager, compiler=torch.compile)


def train_in_one_graph(weights, x, target, rate):
    """Do as `train_eager`, with forward, backward and update compiled as one graph."""
    net, x, target = network(weights), torch.tensor(x), torch.tensor(target)
    params = {name: param.detach() for name, param in net.named_parameters()}

    def loss_of(params):
        return ((functional_call(net, params, (x,)) - target) ** 2).mean()

    @partial(torch.compile, fullgraph=True)
    def updated(params):
        gradients, loss = grad_and_value(loss_of)(params)
        return loss, {name: param - rate * gradients[name] for name, param in params.items()}

    def step():
        nonlocal params
        loss, params = updated(params)
        return loss.item()

    return step
