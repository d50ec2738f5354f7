#!/usr/bin/env python3
"""Writes pyg_relational.h5, which tests/nn/pyg_relational_test.cpp holds the layers over several types of edges against.

Run by hand: python3 make_pyg_relational.py [OUT.h5]. Needs torch, torch_geometric and h5py. The same versions give the
same file.
"""
import os
import sys

import h5py
import torch
import torch_geometric
from torch_geometric import nn as pyg

from make_pyg_reference import NODES, bipartite, case, draw, edges, rng, store


def types_of(edge_index, relations):
    """One relation, the last but one, has no edge."""
    chosen = torch.tensor(rng.integers(0, relations, edge_index.shape[1]))
    return torch.where(chosen == relations - 2, relations - 1, chosen)


def relational(new, name, layer, width, relations, **inputs):
    edge_index = edges(True)
    types = types_of(edge_index, relations)
    group = new(name)
    store(group, type=types)
    case(group, layer, lambda layer, x, **extra: layer(x, edge_index, types, **extra), edge_index, x=draw(NODES, width),
         **inputs)


def rgcn(new):
    def layer(name, fan_in, fan_out, relations, **options):
        relational(new, f'rgcn/{name}', pyg.RGCNConv(fan_in, fan_out, relations, **options), fan_in, relations)

    layer('wide', 3, 7, 5)
    layer('narrow', 7, 3, 5)
    layer('sum', 4, 6, 3, aggr='add')
    layer('sum_narrow', 9, 2, 4, aggr='add', bias=False)
    layer('bases', 5, 4, 6, num_bases=3)
    layer('blocks', 6, 4, 4, num_blocks=2)
    layer('rootless', 6, 9, 4, num_blocks=3, root_weight=False)
    edge_index = bipartite()
    types = types_of(edge_index, 4)
    group = new('rgcn/bipartite')
    store(group, type=types)
    case(group, pyg.RGCNConv((5, 3), 4, 4), lambda layer, x_src, x_dst: layer((x_src, x_dst), edge_index, types),
         edge_index, x_src=draw(12, 5), x_dst=draw(9, 3))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_relational.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        new = file.create_group
        rgcn(new)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
