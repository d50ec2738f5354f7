#!/usr/bin/env python3
"""Writes pyg_gps.h5, which tests/nn/gps_conv_test.cpp holds GPSConv against.

Run by hand: python3 make_pyg_gps.py [OUT.h5]. Needs torch, torch_geometric and h5py. The same versions give the same file.
"""
import os
import sys

import h5py
import torch
import torch_geometric
from torch_geometric import nn as pyg

from make_pyg_reference import NODES, case, draw, edges

WIDTH = 6


def layer(new, name, conv, sizes, heads):
    """Graphs of these sizes; edges between them are left out."""
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    edge_index = edges(True)
    edge_index = edge_index[:, batch[edge_index[0]] == batch[edge_index[1]]]
    group = new(name)
    group.create_dataset('sizes', data=torch.tensor(sizes).int().numpy())
    case(group, pyg.GPSConv(WIDTH, conv, heads=heads), lambda layer, x: layer(x, edge_index, batch), edge_index,
         x=draw(NODES, WIDTH))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_gps.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        layer(file.create_group, 'one', pyg.SAGEConv(WIDTH, WIDTH), [NODES], 1)
        layer(file.create_group, 'graphs', pyg.SAGEConv(WIDTH, WIDTH), [7, 1, 12], 2)
        layer(file.create_group, 'heads', pyg.GraphConv(WIDTH, WIDTH), [10, 10], 3)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
