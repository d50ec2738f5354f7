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


SIZES = {'a': 6, 'b': 9, 'c': 5}  # types of nodes, numbered one after the other
KINDS = [('a', 'x', 'b'), ('b', 'y', 'a'), ('c', 'x', 'a'), ('a', 'z', 'a'), ('b', 'w', 'c'), ('a', 'none', 'b')]


class Types:
    """A random graph of several types, whole and by type."""
    def __init__(self):
        first = {name: sum(list(SIZES.values())[:k]) for k, name in enumerate(SIZES)}
        self.slices = {name: slice(first[name], first[name] + size) for name, size in SIZES.items()}
        self.by_kind, src, dst, types = {}, [], [], []
        for k, (source, _, target) in enumerate(KINDS):
            count = 0 if k == len(KINDS) - 1 else 11
            pair = torch.stack([torch.tensor(rng.integers(0, SIZES[source], count), dtype=torch.long),
                                torch.tensor(rng.integers(0, SIZES[target] - 1, count), dtype=torch.long)])
            self.by_kind[KINDS[k]] = pair
            src.append(pair[0] + first[source])
            dst.append(pair[1] + first[target])
            types.append(torch.full((count,), k))
        order = torch.tensor(rng.permutation(sum(len(t) for t in types)))
        self.edge_index = torch.stack([torch.cat(src), torch.cat(dst)])[:, order]
        self.types = torch.cat(types)[order]
        self.node_types = torch.cat([torch.full((size,), k) for k, size in enumerate(SIZES.values())])

    def split(self, x):
        return {name: x[place] for name, place in self.slices.items()}

    def store(self, group):
        store(group, type=self.types, node_type=self.node_types)


class Stacked(torch.nn.Module):
    """Parameters of all types in one tensor each, as Adjoint has them."""
    def __init__(self, **shapes):
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))


class Hgt(torch.nn.Module):
    """PyG's HGTConv with its parameters in Adjoint's layout."""
    def __init__(self, fan_in, out, heads, graph):
        super().__init__()
        types, relations, width = len(SIZES), len(KINDS), out // heads
        self.heads, self.graph = heads, graph
        for name in ('k_lin', 'q_lin', 'v_lin'):
            self.add_module(name, Stacked(weight=(types, fan_in, out), bias=(types, out)))
        self.out_lin = Stacked(weight=(types, out, out), bias=(types, out))
        for name, shape in (('k_rel', (relations, heads, width, width)), ('v_rel', (relations, heads, width, width)),
                            ('p_rel', (relations, heads)), ('skip', (types,))):
            self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))
        self.layer = [pyg.HGTConv(fan_in, out, (list(SIZES), KINDS), heads).double()]  # not a child

    def forward(self, x):
        state = {}
        for k, name in enumerate(SIZES):
            state[f'kqv_lin.lins.{name}.weight'] = torch.cat(
                [lin.weight[k].T for lin in (self.k_lin, self.q_lin, self.v_lin)])
            state[f'kqv_lin.lins.{name}.bias'] = torch.cat(
                [lin.bias[k] for lin in (self.k_lin, self.q_lin, self.v_lin)])
            state[f'out_lin.lins.{name}.weight'] = self.out_lin.weight[k].T
            state[f'out_lin.lins.{name}.bias'] = self.out_lin.bias[k]
            state[f'skip.{name}'] = self.skip[k:k + 1]
        for r, kind in enumerate(KINDS):
            state['p_rel.' + '__'.join(kind)] = self.p_rel[r:r + 1]
        for name, maps in (('k_rel', self.k_rel), ('v_rel', self.v_rel)):
            state[f'{name}.weight'] = maps.transpose(0, 1).flatten(0, 1)
        names = {name for name, _ in self.layer[0].named_parameters()}
        assert names == set(state), names ^ set(state)
        y = torch.func.functional_call(self.layer[0], state, (self.graph.split(x), self.graph.by_kind))
        return torch.cat([y[name] for name in SIZES])


def hgt(new):
    for name, fan_in, out, heads in (('skip', 6, 6, 3), ('wide', 4, 8, 2), ('one_head', 5, 5, 1)):
        graph = Types()
        group = new(f'hgt/{name}')
        graph.store(group)
        case(group, Hgt(fan_in, out, heads, graph), lambda layer, x: layer(x), graph.edge_index,
             x=draw(sum(SIZES.values()), fan_in))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_relational.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        new = file.create_group
        rgcn(new)
        hgt(new)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
