"""The course's network in PyTorch, see notebooks 04 and 08."""

import torch
from torch import nn


def network(weights):
    layers = []
    for matrix, bias in weights:
        layers += [nn.Linear(*matrix.shape), nn.ReLU()]
        layers[-2].weight.data.copy_(torch.tensor(matrix.T))
        layers[-2].bias.data.copy_(torch.tensor(bias))
    return nn.Sequential(*layers[:-1])


def eager(weights, x, compiler=lambda net: net):
    net, x = network(weights).requires_grad_(False), torch.tensor(x)
    compiled = compiler(net)
    return lambda: compiled(x)


def torchscript(weights, x):
    return eager(weights, x, torch.jit.script)


def torch_compile(weights, x):
    return eager(weights, x, torch.compile)


def send(weights, x, folder):
    torch.jit.script(network(weights).requires_grad_(False)).save(folder / "net.pt")


def receive(folder, x):
    return torch.jit.load(folder / "net.pt")(torch.tensor(x))


def train_eager(weights, x, target, rate, compiler=lambda loss: loss):
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


def train_torch_compile(weights, x, target, rate):
    return train_eager(weights, x, target, rate, torch.compile)
