#!/usr/bin/env python3
"""Writes pyg_models.h5, which tests/apps/pyg_test.cpp runs `predict` against: a dataset of the schema and, for each
model MODEL/state/NAME (its state dict) and MODEL/output (its logits of every node).

Run by hand when a model is added: python3 make_pyg_models.py [OUT.h5]. Needs torch, torch_geometric and h5py. The models
are ordinary PyG models with random weights and batch norm statistics. The same versions
give the same file.
"""
import os
import sys

import h5py
import numpy as np
import torch
import torch.nn.functional as F
from torch.nn import Linear, ModuleList, ReLU, Sequential
from torch_geometric import nn as pyg

NODES, FEATURES, HIDDEN, HEADS, CLASSES, LAYERS = 30, 6, 4, 3, 5, 3
rng = np.random.default_rng(20180401)
torch.manual_seed(20180401)


class Stack(torch.nn.Module):
    """Convolutions with a norm and an activation between them."""

    def __init__(self, convs, widths=None, norm=None, activation=F.relu):
        super().__init__()
        self.convs = ModuleList(convs)
        self.norms = ModuleList([norm(width) for width in widths]) if norm else None
        self.activation = activation

    def forward(self, x, edge_index):
        for l, conv in enumerate(self.convs):
            x = conv(x, edge_index)
            if l + 1 < len(self.convs):
                x = self.activation(self.norms[l](x) if self.norms else x)
        return x


class AGNN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = Linear(FEATURES, HIDDEN), Linear(HIDDEN, CLASSES)
        self.prop1, self.prop2 = pyg.AGNNConv(requires_grad=False), pyg.AGNNConv(requires_grad=True)

    def forward(self, x, edge_index):
        x = F.relu(self.lin1(x))
        return self.lin2(self.prop2(self.prop1(x, edge_index), edge_index))


def widths():
    """(in, out) of each layer without heads."""
    sizes = [FEATURES] + [HIDDEN] * (LAYERS - 1) + [CLASSES]
    return zip(sizes[:-1], sizes[1:])


def by_heads(layer, **more):
    return [layer(FEATURES if l == 0 else HEADS * HIDDEN, HIDDEN, heads=HEADS, **more) for l in range(LAYERS - 1)]


def models():
    wide = [HEADS * HIDDEN] * (LAYERS - 1)
    narrow = [HIDDEN] * (LAYERS - 1)
    yield 'gcn', Stack([pyg.GCNConv(i, o) for i, o in widths()])
    yield 'gat', Stack(by_heads(pyg.GATConv) + [pyg.GATConv(wide[0], CLASSES, heads=2, concat=False)],
                       activation=F.elu)
    yield 'gatv2', Stack(by_heads(pyg.GATv2Conv) + [pyg.GATv2Conv(wide[0], CLASSES, heads=2, concat=False)], wide,
                         pyg.BatchNorm, F.elu)
    yield 'transformer', Stack(
        by_heads(pyg.TransformerConv, beta=True) +
        [pyg.TransformerConv(wide[0], CLASSES, heads=HEADS, concat=False, beta=True)], wide, torch.nn.LayerNorm)
    yield 'sage', Stack([pyg.SAGEConv(i, o) for i, o in widths()], narrow, torch.nn.BatchNorm1d)
    yield 'gin', Stack([pyg.GINConv(Sequential(Linear(i, HIDDEN), ReLU(), Linear(HIDDEN, o)), train_eps=True)
                        for i, o in widths()], narrow, pyg.BatchNorm)
    yield 'agnn', AGNN()


def disturb(model):
    """With the zeros and ones of a new model, errors in reading would not show."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if 'num_batches' in name:
                continue
            fresh = torch.tensor(rng.standard_normal(tuple(tensor.shape)).astype(np.float32)) * 0.3
            tensor.copy_(tensor + (fresh.abs() if 'running_var' in name else fresh))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pyg_models.h5')
    edges = rng.integers(0, NODES - 1, (90, 2))  # the last node has none
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    edges = rng.permutation(edges).astype(np.int32)
    x = rng.standard_normal((NODES, FEATURES)).astype(np.float32)
    with h5py.File(path, 'w', libver='latest') as file:
        file.attrs.update({'format': 'adjoint.graph', 'version': 1, 'name': 'pyg', 'num_nodes': NODES,
                           'num_classes': CLASSES, 'task': 'node_class', 'undirected': 0})
        file['edges/src'], file['edges/dst'] = edges[:, 0], edges[:, 1]
        file['nodes/x'] = x
        file['nodes/y'] = rng.integers(0, CLASSES, NODES).astype(np.int32)
        for name, model in models():
            disturb(model)
            model.eval()
            with torch.no_grad():
                output = model(torch.tensor(x), torch.tensor(edges.T.astype(np.int64)))
            for key, tensor in model.state_dict().items():
                file[f'{name}/state/{key}'] = tensor.numpy()
            file[f'{name}/output'] = output.numpy()
            print(name, [f'{k} {tuple(v.shape)}' for k, v in model.state_dict().items()][:4])


if __name__ == '__main__':
    main()
