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


class Rgat(torch.nn.Module):
    """PyG's RGATConv without the parameters that it does not use."""
    def __init__(self, *widths, **options):
        super().__init__()
        layer = pyg.RGATConv(*widths, **options).double()
        self.layer = [layer]  # not a child
        for name, value in layer.named_parameters():
            if name not in ('w', 'l1', 'b1', 'l2', 'b2'):
                self.register_parameter(name, torch.nn.Parameter(value.detach().clone()))

    def forward(self, x, edge_index, types):
        return torch.func.functional_call(self.layer[0], dict(self.named_parameters()), (x, edge_index, types))


def rgat(new):
    by_relation = dict(attention_mechanism='within-relation')
    product = dict(attention_mode='multiplicative-self-attention')
    for name, options in (('across', {}), ('within', by_relation), ('product', product), ('product_within', by_relation | product),
                          ('heads', dict(heads=2)), ('mean', dict(heads=3, concat=False, **by_relation)),
                          ('bases', dict(heads=2, num_bases=2, negative_slope=0.05)),
                          ('blocks', dict(heads=2, num_blocks=2, bias=False, **product))):
        relational(new, f'rgat/{name}', Rgat(6, 4, 5, **options), 6, 5)


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


WIDTHS = {'a': 4, 'b': 3, 'c': 5}


def by_type(group, layer, forward, graph):
    """A case whose inputs are the features of each type; results are those of all types, one after the other."""
    for k, kind in enumerate(KINDS):
        store(group, **{f'edges{k}': graph.by_kind[kind]})
    case(group, layer, lambda layer, **x: torch.cat([y.flatten() for _, y in sorted(forward(layer, x).items())]), None,
         **{name: draw(size, WIDTHS[name]) for name, size in SIZES.items()})


class Han(torch.nn.Module):
    """PyG's HANConv with parameters named as Adjoint's."""
    def __init__(self, out, heads):
        super().__init__()
        self.k_lin = torch.nn.Linear(out, out)
        self.register_parameter('q', torch.nn.Parameter(torch.empty(1, out)))
        for name, width in WIDTHS.items():
            self.add_module(f'proj_{name}', torch.nn.Linear(width, out))
        for kind in KINDS:
            for end in ('src', 'dst'):
                self.register_parameter(f'lin_{end}_' + '~'.join(kind), torch.nn.Parameter(torch.empty(heads, out // heads)))
        self.layer = [pyg.HANConv(WIDTHS, out, (list(SIZES), KINDS), heads).double()]  # not a child

    def forward(self, x, edges):
        state = {}
        for name, value in self.named_parameters():
            for end in ('src', 'dst'):
                if name.startswith(f'lin_{end}_'):
                    name, value = f'lin_{end}.' + name[8:].replace('~', '__'), value[None]
            state[name.replace('proj_', 'proj.')] = value
        assert {name for name, _ in self.layer[0].named_parameters()} == set(state)
        return torch.func.functional_call(self.layer[0], state, (x, edges))


def typed(new):
    graph = Types()
    by_type(new('han/heads'), Han(6, 2), lambda layer, x: layer(x, graph.by_kind), graph)
    by_type(new('han/one_head'), Han(5, 1), lambda layer, x: layer(x, graph.by_kind), graph)
    for aggr in ('sum', 'mean', 'max', 'cat'):
        layers = {}
        for k, (source, name, target) in enumerate(KINDS):
            widths = (WIDTHS[source], WIDTHS[target])
            layers[source, name, target] = (pyg.SAGEConv(widths, 6) if k % 3 == 0 else pyg.GraphConv(widths, 6)
                                            if k % 3 == 1 else pyg.GATConv(widths, 3, heads=2, add_self_loops=False))
        by_type(new(f'hetero/{aggr}'), pyg.HeteroConv(layers, aggr), lambda layer, x: layer(x, graph.by_kind), graph)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_relational.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        new = file.create_group
        rgcn(new)
        rgat(new)
        hgt(new)
        typed(new)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
