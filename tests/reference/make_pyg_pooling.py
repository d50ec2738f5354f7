#!/usr/bin/env python3
"""Writes pyg_pooling.h5, which tests/nn/pooling_test.cpp holds GraphPooling against.

Run by hand: python3 make_pyg_pooling.py [OUT.h5]. Needs torch, torch_geometric and h5py. The same versions give the same file.
"""
import os
import sys

import h5py
import torch
import torch_geometric
from torch_geometric import nn as pyg

from make_pyg_reference import NODES, case, draw, edges

WIDTH = 5


class Best(torch.nn.Module):
    """Mean and maximum of the nodes that a pooling layer keeps; its trained parts are this module's."""

    def __init__(self, ratio, kind):
        super().__init__()
        self.ratio = ratio
        if kind == 'sag':
            self.gnn = pyg.GraphConv(WIDTH, 1)
        else:
            self.select = pyg.TopKPooling(WIDTH).select

    def forward(self, x, edge_index, batch):
        if hasattr(self, 'gnn'):
            pool = pyg.SAGPooling(WIDTH, self.ratio).double()
            pool.gnn = self.gnn
            pool.select.weight = torch.nn.Parameter(torch.ones(1, 1, dtype=torch.float64))
        else:
            pool = pyg.TopKPooling(WIDTH, self.ratio)
            pool.select.weight = self.select.weight
        x, _, _, batch, _, _ = pool(x, edge_index, batch=batch)
        graphs = int(batch.max()) + 1
        return torch.cat([pyg.global_mean_pool(x, batch, graphs), pyg.global_max_pool(x, batch, graphs)], dim=1)


def pooling(new, name, layer, sizes, forward):
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    edge_index = edges(True)
    edge_index = edge_index[:, batch[edge_index[0]] == batch[edge_index[1]]]
    group = new(name)
    group.create_dataset('sizes', data=torch.tensor(sizes).int().numpy())
    case(group, layer, lambda layer, x: forward(layer, x, edge_index, batch), edge_index, x=draw(NODES, WIDTH))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_pooling.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)

        def whole(layer, x, edge_index, batch):
            return layer(x, batch)

        def best(layer, x, edge_index, batch):
            return layer(x, edge_index, batch)

        new = file.create_group
        pooling(new, 'attention', pyg.aggr.AttentionalAggregation(torch.nn.Linear(WIDTH, 1)), [7, 1, 12], whole)
        pooling(new, 'set2set', pyg.aggr.Set2Set(WIDTH, 3), [7, 1, 12], whole)
        pooling(new, 'topk', Best(0.5, 'topk'), [7, 1, 12], best)
        pooling(new, 'topk_most', Best(0.8, 'topk'), [NODES], best)
        pooling(new, 'sag', Best(0.3, 'sag'), [10, 10], best)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
