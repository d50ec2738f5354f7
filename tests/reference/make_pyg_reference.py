#!/usr/bin/env python3
"""Writes pyg_layers.h5, which tests/nn/pyg_reference_test.cpp holds Adjoint's layers, losses and optimizers against.

Run by hand when a layer is added: python3 make_pyg_reference.py [OUT.h5]. Needs torch, torch_geometric and h5py.
Inputs are float32 numbers; everything is computed from them in float64 and stored as float32. The same versions give
the same file.
"""
import os
import sys

import h5py
import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric
from torch_geometric import nn as pyg

NODES = 20
rng = np.random.default_rng(20170209)


def draw(*shape, shift=0.0):
    """Normal numbers that float32 holds exactly."""
    return torch.tensor((rng.standard_normal(shape) + shift).astype(np.float32), dtype=torch.float64)


def leaf(tensor):
    return tensor.clone().requires_grad_(True)


def store(group, **arrays):
    for name, array in arrays.items():
        if torch.is_tensor(array):
            array = array.detach().numpy()
        integral = np.issubdtype(np.asarray(array).dtype, np.integer)
        group.create_dataset(name, data=np.asarray(array, dtype=np.int32 if integral else np.float32))


def edges(self_loops):
    """Directed, with parallel edges; the last two nodes have no edge, the last but two only sends."""
    pairs = rng.integers(0, NODES - 2, (45, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] != NODES - 3)]
    pairs = np.concatenate([pairs, pairs[:6], [[NODES - 3, 0]]])
    if self_loops:
        pairs = np.concatenate([pairs, [[i, i] for i in (0, 3, 7)]])
    return torch.tensor(rng.permutation(pairs).T.copy())


def conv(group, layer, fan_in, fan_out, self_loops, weighted):
    edge_index = edges(self_loops)
    weight = torch.tensor(rng.uniform(0.25, 2.0, edge_index.shape[1]).astype(np.float32), dtype=torch.float64)
    layer = layer.double()
    x, w, b, dy = leaf(draw(NODES, fan_in)), draw(fan_in, fan_out), draw(fan_out), draw(NODES, fan_out)
    with torch.no_grad():
        layer.lin.weight.copy_(w.T)
        bias = layer.lin.bias if layer.lin.bias is not None else layer.bias
        bias.copy_(b)
    y = layer(x, edge_index, weight if weighted else None)
    y.backward(dy)
    store(group, src=edge_index[0], dst=edge_index[1], x=x, w=w, b=b, y=y, dy=dy, dx=x.grad,
          dw=layer.lin.weight.grad.T, db=bias.grad)
    if weighted:
        store(group, weight=weight)


def batch_norm(group):
    layer = pyg.BatchNorm(5).double()
    x, gamma, beta, dy = leaf(draw(NODES, 5, shift=2.0)), draw(5), draw(5), draw(NODES, 5)
    with torch.no_grad():
        layer.module.weight.copy_(gamma)
        layer.module.bias.copy_(beta)
    y = layer(x)
    y.backward(dy)
    store(group, x=x, gamma=gamma, beta=beta, y=y, dy=dy, dx=x.grad, dgamma=layer.module.weight.grad,
          dbeta=layer.module.bias.grad, running_mean=layer.module.running_mean,
          running_variance=layer.module.running_var, y_eval=layer.eval()(x))


def layer_norm(group):
    layer = pyg.LayerNorm(7, mode='node').double()
    x, gamma, beta, dy = leaf(draw(NODES, 7, shift=1.0)), draw(7), draw(7), draw(NODES, 7)
    with torch.no_grad():
        layer.weight.copy_(gamma)
        layer.bias.copy_(beta)
    y = layer(x)
    y.backward(dy)
    store(group, x=x, gamma=gamma, beta=beta, y=y, dy=dy, dx=x.grad, dgamma=layer.weight.grad, dbeta=layer.bias.grad)


def loss(group, function, target):
    x, index = leaf(draw(NODES, 4)), torch.tensor(rng.permutation(NODES)[:11])
    value = function(x[index], target[index])
    value.backward()
    store(group, x=x, target=target, index=index, loss=value, dx=x.grad)


def activation(group, function):
    x, dy = leaf(2.0 * draw(6, 9)), draw(6, 9)
    y = function(x)
    y.backward(dy)
    store(group, x=x, y=y, dy=dy, dx=x.grad)


def optimizer(group, make, **options):
    for name, value in options.items():
        group.attrs[name] = int(value) if isinstance(value, bool) else value
    start = [draw(3, 4), draw(5)]
    parameters = [leaf(p) for p in start]
    gradients = [draw(5, 3, 4), draw(5, 5)]
    steps = make(parameters, **options)
    history = [[], []]
    for step in range(5):
        for p, g in zip(parameters, gradients):
            p.grad = g[step].clone()
        steps.step()
        for seen, p in zip(history, parameters):
            seen.append(p.detach().clone())
    for k in range(2):
        store(group, **{f'start{k}': start[k], f'gradients{k}': gradients[k], f'history{k}': torch.stack(history[k])})


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pyg_layers.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)

        def new(name):
            return file.create_group(name)

        conv(new('gcn/in_below_out'), pyg.GCNConv(3, 7), 3, 7, False, False)
        conv(new('gcn/in_above_out'), pyg.GCNConv(7, 3), 7, 3, False, False)
        conv(new('gcn/self_loops'), pyg.GCNConv(4, 5), 4, 5, True, False)
        conv(new('gcn/weighted'), pyg.GCNConv(3, 6), 3, 6, False, True)
        conv(new('gcn/weighted_self_loops'), pyg.GCNConv(6, 3), 6, 3, True, True)
        conv(new('sgc/plain'), pyg.SGConv(5, 3, K=2), 5, 3, False, False)
        conv(new('sgc/weighted_self_loops'), pyg.SGConv(3, 5, K=2), 3, 5, True, True)
        batch_norm(new('batch_norm'))
        layer_norm(new('layer_norm'))
        loss(new('loss/cross_entropy'), F.cross_entropy, torch.tensor(rng.integers(0, 4, NODES)))
        loss(new('loss/bce_with_logits'), F.binary_cross_entropy_with_logits, (draw(NODES, 4) > 0).double())
        loss(new('loss/mse'), F.mse_loss, draw(NODES, 4))
        activation(new('activation/gelu'), F.gelu)
        activation(new('activation/elu'), F.elu)
        activation(new('activation/leaky_relu'), F.leaky_relu)
        activation(new('activation/relu'), F.relu)
        optim = torch.optim
        optimizer(new('sgd/plain'), optim.SGD, lr=0.1)
        optimizer(new('sgd/momentum'), optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.05)
        optimizer(new('sgd/nesterov'), optim.SGD, lr=0.1, momentum=0.8, weight_decay=0.02, nesterov=True)
        optimizer(new('adam/plain'), optim.Adam, lr=0.01)
        optimizer(new('adam/decay'), optim.Adam, lr=0.02, weight_decay=0.1)
        optimizer(new('adamw/decay'), optim.AdamW, lr=0.02, weight_decay=0.1)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
