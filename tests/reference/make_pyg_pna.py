#!/usr/bin/env python3
"""Writes pyg_pna.h5, which tests/nn/pyg_layers_test.cpp holds PNAConv and its aggregations against.

Run by hand: python3 make_pyg_pna.py [OUT.h5]. Needs torch, torch_geometric and h5py. The same versions give the same file.
"""
import os
import sys

import h5py
import torch
import torch_geometric
from torch_geometric import nn as pyg
from torch_geometric.nn import aggr
from torch_geometric.utils import degree

from make_pyg_reference import NODES, case, draw, edges

AGGREGATORS = ['mean', 'min', 'max', 'std']
SCALERS = ['identity', 'amplification', 'attenuation']


def layer(new, name, fan_in, fan_out, aggregators, scalers, **options):
    edge_index = edges(True)
    histogram = torch.bincount(degree(edge_index[1], NODES, dtype=torch.long))
    group = new(f'pna/{name}')
    group.create_dataset('degrees', data=histogram.int().numpy())
    case(group, pyg.PNAConv(fan_in, fan_out, aggregators, scalers, histogram, **options),
         lambda layer, x: layer(x, edge_index), edge_index, x=draw(NODES, fan_in))


def aggregation(new, name, module):
    edge_index = edges(True)
    case(new(f'aggr/{name}'), module,
         lambda module, x: module(x[edge_index[0]], edge_index[1], dim_size=NODES), edge_index, x=draw(NODES, 5))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_pna.h5')
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        new = file.create_group
        layer(new, 'plain', 4, 6, AGGREGATORS, SCALERS)
        layer(new, 'every', 3, 4, ['sum', 'mean', 'min', 'max', 'var', 'std'],
              SCALERS + ['linear', 'inverse_linear'])
        layer(new, 'towers', 4, 6, AGGREGATORS, SCALERS, towers=2, post_layers=2)
        layer(new, 'divided', 4, 6, AGGREGATORS, ['linear', 'identity'], towers=2, divide_input=True)
        layer(new, 'trained', 4, 6, ['sum', 'std'], ['attenuation', 'inverse_linear'], train_norm=True)
        for name, module in (('sum', aggr.SumAggregation()), ('mean', aggr.MeanAggregation()),
                             ('max', aggr.MaxAggregation()), ('min', aggr.MinAggregation()),
                             ('var', aggr.VarAggregation()), ('std', aggr.StdAggregation())):
            aggregation(new, name, module)
        aggregation(new, 'several', aggr.MultiAggregation(['std', 'max', 'sum', 'var', 'min', 'mean']))
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
