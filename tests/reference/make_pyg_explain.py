#!/usr/bin/env python3
"""Writes pyg_explain.h5, which tests/models/explainer_test.cpp holds explanations of node models against.

GNNExplainer is PyG's, from stored first masks; integrated gradients are a float64 loop over PyG's masked layers.
Run by hand: python3 make_pyg_explain.py [OUT.h5]. Needs torch, torch_geometric, numpy and h5py. The same versions give the
same file.
"""
import os
import sys

import h5py
import numpy as np
import torch
import torch_geometric
from torch_geometric import nn as pyg
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from make_pyg_reference import NODES, draw, edges

IN, HIDDEN, OUT, NODE = 5, 6, 3, 4


class Stack(torch.nn.Module):

    def __init__(self, convs, activation):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)
        self.activation = activation

    def forward(self, x, edge_index):
        for conv in self.convs[:-1]:
            x = self.activation(conv(x, edge_index))
        return self.convs[-1](x, edge_index)


class Known(GNNExplainer):
    """Begins with known masks."""

    def _initialize_masks(self, x, edge_index):
        super()._initialize_masks(x, edge_index)
        self.node_mask.data = self.first_features.clone().view(1, -1)
        self.edge_mask.data = self.first_edges.clone()


def integrated(model, x, edge_index, column):
    """Attributions of edges and features, by 50 points of Gauss-Legendre."""
    points, weights = np.polynomial.legendre.leggauss(50)
    of_edges, of_features = torch.zeros(edge_index.size(1), dtype=x.dtype), torch.zeros_like(x)
    for point, weight in zip(points, weights):
        t = 0.5 * (point + 1)
        mask = torch.full((edge_index.size(1), ), t, dtype=x.dtype)
        input = (t * x).requires_grad_()
        set_masks(model, mask, edge_index, apply_sigmoid=False)
        # The leaf is the parameter that set_masks makes of the mask.
        leaf = next(m._edge_mask for m in model.modules() if isinstance(m, pyg.MessagePassing))
        edge_gradient, gradient = torch.autograd.grad(model(input, edge_index)[NODE, column], [leaf, input])
        of_edges += 0.5 * weight * edge_gradient
        of_features += 0.5 * weight * gradient * x
        clear_masks(model)
    return of_edges, of_features


def explained(group, model, epochs):
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((draw(*parameter.shape) * 0.7).float())  # numbers that float32 has
    edge_index, x = edges(True), draw(NODES, IN)
    write = lambda name, value: group.create_dataset(name, data=(value.detach().float() if value.is_floating_point() else value).numpy())
    write('src', edge_index[0].int())
    write('dst', edge_index[1].int())
    write('x', x)
    for name, value in model.state_dict().items():
        write(f'state/{name}', value)
    algorithm = Known(epochs=epochs, lr=0.05)
    algorithm.first_edges, algorithm.first_features = draw(edge_index.size(1)), draw(IN)
    write('first_edges', algorithm.first_edges)
    write('first_features', algorithm.first_features)
    explainer = Explainer(
        model, algorithm, explanation_type='model', node_mask_type='common_attributes', edge_mask_type='object',
        model_config=dict(mode='multiclass_classification', task_level='node', return_type='raw'))
    explanation = explainer(x, edge_index, index=NODE)
    write('edge_mask', explanation.edge_mask)
    write('node_mask', explanation.node_mask.reshape(-1))
    y = model(x, edge_index)
    write('y', y)
    group.attrs['node'], group.attrs['epochs'], group.attrs['lr'] = NODE, epochs, 0.05
    of_edges, of_features = integrated(model, x, edge_index, int(y[NODE].argmax()))
    write('edge_gradients', of_edges)
    write('feature_gradients', of_features)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_explain.h5')
    mlp = lambda a, b: pyg.GINConv(pyg.MLP([a, HIDDEN, b], norm=None))
    models = {
        'gcn': Stack([pyg.GCNConv(IN, HIDDEN), pyg.GCNConv(HIDDEN, OUT)], torch.relu),
        'sage': Stack([pyg.SAGEConv(IN, HIDDEN), pyg.SAGEConv(HIDDEN, OUT)], torch.relu),
        'gin': Stack([mlp(IN, HIDDEN), mlp(HIDDEN, OUT)], torch.relu),
        'gat': Stack([pyg.GATConv(IN, HIDDEN, heads=2), pyg.GATConv(2 * HIDDEN, OUT, concat=False)],
                     torch.nn.functional.elu),
        'transformer': Stack([pyg.TransformerConv(IN, HIDDEN, heads=2),
                              pyg.TransformerConv(2 * HIDDEN, OUT, heads=2, concat=False)], torch.relu),
    }
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        for name, model in models.items():
            explained(file.create_group(name), model, 20)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
