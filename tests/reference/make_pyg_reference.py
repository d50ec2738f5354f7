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


def states(layer):
    """Random numbers for every parameter and buffer whose values may vary."""
    layer = layer.double()
    with torch.no_grad():
        for name, tensor in layer.state_dict().items():
            if name.rsplit('.', 1)[-1] not in ('eps', 'avg_deg_lin', 'avg_deg_log'):
                tensor.copy_(0.5 * draw(*tensor.shape))
    return layer


def case(group, layer, forward, edge_index, **inputs):
    """`forward(**inputs)` and the gradients of its inputs and parameters; inputs that are None are left out of the file."""
    layer = states(layer)
    layer.zero_grad()
    if edge_index is not None:
        store(group, src=edge_index[0], dst=edge_index[1])
    store(group.create_group('state'), **layer.state_dict())
    leaves = {name: leaf(value) for name, value in inputs.items() if value is not None}
    y = forward(layer, **{name: leaves.get(name) for name in inputs})
    dy = draw(*y.shape)
    y.backward(dy)
    store(group, y=y, dy=dy)
    store(group.create_group('in'), **leaves)
    store(group.create_group('d'), **{name: value.grad for name, value in leaves.items() if value.grad is not None})
    store(group.create_group('dstate'), **{name: value.grad for name, value in layer.named_parameters()
                                           if value.grad is not None})


def weights(edge_index):
    return torch.tensor(rng.uniform(0.25, 2.0, edge_index.shape[1]).astype(np.float32), dtype=torch.float64)


def bipartite():
    """From 12 sources to 9 targets, some of which have no edge."""
    pairs = np.stack([rng.integers(0, 12, 40), rng.integers(0, 7, 40)])
    return torch.tensor(pairs)


def network(fan_in, fan_out):
    nn = torch.nn
    return nn.Sequential(nn.Linear(fan_in, 6), nn.ReLU(), nn.Linear(6, fan_out))


def convolutions(new):
    """On a graph: with its own nodes as sources and targets, with and without weights; on a bipartite relation."""
    def on_graph(name, layer, width, weighted=False, self_loops=False, attr=None, **fixed):
        edge_index = edges(self_loops)
        x = draw(NODES, width)
        if attr is not None:
            case(new(name), layer, lambda layer, x, edge_attr: layer(x, edge_index, edge_attr, **fixed), edge_index,
                 x=x, edge_attr=draw(edge_index.shape[1], attr))
        else:
            case(new(name), layer,
                 lambda layer, x, edge_weight: (layer(x, edge_index, **fixed) if edge_weight is None else
                                                layer(x, edge_index, edge_weight, **fixed)),
                 edge_index, x=x, edge_weight=weights(edge_index) if weighted else None)

    def on_relation(name, layer, widths, weighted=False, root=True, attr=None):
        edge_index = bipartite()
        count = edge_index.shape[1]
        extra = weights(edge_index) if weighted else draw(count, attr) if attr is not None else None
        case(new(name), layer,
             lambda layer, x_src, x_dst, extra: (layer((x_src, x_dst), edge_index, size=(12, 9)) if extra is None else
                                                 layer((x_src, x_dst), edge_index, extra, size=(12, 9))),
             edge_index, x_src=draw(12, widths[0]), x_dst=draw(9, widths[1]) if root else None, extra=extra)

    for aggr in ('add', 'mean', 'max'):
        on_graph(f'graph_conv/{aggr}', pyg.GraphConv(4, 6, aggr=aggr), 4)
        on_graph(f'graph_conv/{aggr}_wide', pyg.GraphConv(6, 4, aggr=aggr, bias=False), 6, self_loops=True)
        on_relation(f'graph_conv/{aggr}_bipartite', pyg.GraphConv((4, 3), 5, aggr=aggr), (4, 3), weighted=True)
        on_graph(f'graph_conv/{aggr}_weighted', pyg.GraphConv(4, 6, aggr=aggr), 4, weighted=True)
        on_graph(f'graph_conv/{aggr}_weighted_wide', pyg.GraphConv(6, 4, aggr=aggr), 6, weighted=True)
    on_relation('graph_conv/rootless', pyg.GraphConv((6, 3), 5), (6, 3), root=False)

    on_graph('gin/fixed', pyg.GINConv(network(4, 5), eps=0.5), 4, self_loops=True)
    on_graph('gin/learned', pyg.GINConv(network(4, 5), eps=-0.25, train_eps=True), 4)
    on_relation('gin/bipartite', pyg.GINConv(network(4, 5), eps=0.5), (4, 4))
    on_graph('gine/mapped', pyg.GINEConv(network(4, 5), eps=0.5, edge_dim=3), 4, attr=3)
    on_graph('gine/wide_edges', pyg.GINEConv(network(4, 5), train_eps=True, edge_dim=11), 4, attr=11)
    on_graph('gine/plain', pyg.GINEConv(network(4, 5)), 4, attr=4)
    on_relation('gine/bipartite', pyg.GINEConv(network(4, 5), edge_dim=2), (4, 4), attr=2)

    # Without edge weights PyG 2.8 ignores `improved`.
    on_graph('gcn_options/improved', pyg.GCNConv(3, 5, improved=True), 3, weighted=True, self_loops=True)
    on_graph('gcn_options/no_loops', pyg.GCNConv(5, 3, add_self_loops=False), 5)
    on_graph('gcn_options/not_normalized', pyg.GCNConv(3, 5, normalize=False), 3)
    on_graph('gcn_options/weighted', pyg.GCNConv(3, 5), 3, weighted=True)
    on_graph('gcn_options/weighted_loops', pyg.GCNConv(5, 3), 5, weighted=True, self_loops=True)
    on_graph('gcn_options/weighted_improved', pyg.GCNConv(3, 5, improved=True, bias=False), 3, weighted=True)
    on_graph('gcn_options/weighted_not_normalized', pyg.GCNConv(5, 3, normalize=False), 5, weighted=True)
    on_graph('sg/one', pyg.SGConv(4, 6), 4)
    on_graph('sg/no_loops', pyg.SGConv(6, 4, K=3, add_self_loops=False), 6, self_loops=True)
    on_graph('sg/weighted', pyg.SGConv(4, 6, K=2), 4, weighted=True)
    on_graph('appnp/plain', pyg.APPNP(3, 0.1), 4)
    on_graph('appnp/weighted', pyg.APPNP(2, 0.25, add_self_loops=False), 4, weighted=True)
    on_graph('appnp/not_normalized', pyg.APPNP(2, 0.25, normalize=False), 4, weighted=True)

    def with_first(name, layer, weighted=False):
        edge_index = edges(True)
        case(new(name), layer, lambda layer, x, x_0, edge_weight: layer(x, x_0, edge_index, edge_weight), edge_index,
             x=draw(NODES, 5), x_0=draw(NODES, 5), edge_weight=weights(edge_index) if weighted else None)

    with_first('gcn2/plain', pyg.GCN2Conv(5, 0.1))
    with_first('gcn2/shared', pyg.GCN2Conv(5, 0.2, theta=0.5, layer=3), weighted=True)
    with_first('gcn2/unshared', pyg.GCN2Conv(5, 0.2, theta=0.5, layer=2, shared_weights=False))
    with_first('gcn2/not_normalized', pyg.GCN2Conv(5, 0.2, normalize=False, add_self_loops=False), weighted=True)

    for kind in ('sym', 'rw', None):
        name = f'cheb/{kind or "plain"}'
        on_graph(name, pyg.ChebConv(3, 5, K=3, normalization=kind), 3, self_loops=True)
        on_graph(f'{name}_wide', pyg.ChebConv(5, 3, K=4, normalization=kind), 5)
        on_graph(f'{name}_weighted', pyg.ChebConv(5, 3, K=3, normalization=kind), 5, weighted=True)
        on_graph(f'{name}_lambda', pyg.ChebConv(3, 5, K=3, normalization=kind, bias=False), 3, weighted=True,
                 lambda_max=torch.tensor(1.5, dtype=torch.float64))
    on_graph('cheb/one', pyg.ChebConv(3, 5, K=1), 3)
    on_graph('cheb/two', pyg.ChebConv(5, 3, K=2), 5)
    on_graph('tag/plain', pyg.TAGConv(3, 5), 3, self_loops=True)
    on_graph('tag/wide', pyg.TAGConv(5, 3, K=2), 5)
    on_graph('tag/weighted', pyg.TAGConv(5, 3, K=2, bias=False), 5, weighted=True)
    on_graph('tag/not_normalized', pyg.TAGConv(3, 5, K=2, normalize=False), 3, weighted=True)
    on_graph('tag/zero', pyg.TAGConv(5, 3, K=0), 5)


def attentions(new):
    def on_graph(name, layer, attr=None, one_number=False):
        edge_index = edges(True)
        extra = None if attr is None else draw(edge_index.shape[1]) if one_number else draw(edge_index.shape[1], attr)
        case(new(name), layer,
             lambda layer, x, edge_attr: layer(x, edge_index) if edge_attr is None else layer(x, edge_index, edge_attr),
             edge_index, x=draw(NODES, 5), edge_attr=extra)

    def on_relation(name, layer, attr=None):
        edge_index = bipartite()
        case(new(name), layer,
             lambda layer, x_src, x_dst, extra: (layer((x_src, x_dst), edge_index) if extra is None else
                                                 layer((x_src, x_dst), edge_index, extra)),
             edge_index, x_src=draw(12, 5), x_dst=draw(9, 3),
             extra=None if attr is None else draw(edge_index.shape[1], attr))

    on_graph('gat/one_head', pyg.GATConv(5, 4))
    on_graph('gat/heads', pyg.GATConv(5, 4, heads=3, residual=True))
    on_graph('gat/mean', pyg.GATConv(5, 4, heads=2, concat=False, bias=False, negative_slope=0.05))
    on_graph('gat/no_loops', pyg.GATConv(5, 4, heads=2, add_self_loops=False))
    on_graph('gat/two_maps', pyg.GATConv((5, 5), 4, heads=2))
    on_graph('gat/edges_mean', pyg.GATConv(5, 4, heads=2, edge_dim=3), attr=3)
    on_graph('gat/edges_sum', pyg.GATConv(5, 4, heads=2, edge_dim=2, fill_value='add'), attr=2)
    on_graph('gat/edges_constant', pyg.GATConv(5, 4, heads=2, edge_dim=1, fill_value=0.5), attr=1, one_number=True)
    on_graph('gat/edges_no_loops', pyg.GATConv(5, 4, edge_dim=3, add_self_loops=False, concat=False, residual=True),
             attr=3)
    on_relation('gat/bipartite', pyg.GATConv((5, 3), 4, heads=2, add_self_loops=False, residual=True))
    on_relation('gat/bipartite_edges', pyg.GATConv((5, 3), 4, heads=2, add_self_loops=False, edge_dim=2), attr=2)
    on_relation('gat/bipartite_loops', pyg.GATConv((5, 3), 4, edge_dim=2), attr=2)

    on_graph('gatv2/one_head', pyg.GATv2Conv(5, 4))
    on_graph('gatv2/heads', pyg.GATv2Conv(5, 4, heads=3, residual=True))
    on_graph('gatv2/mean', pyg.GATv2Conv(5, 4, heads=2, concat=False, bias=False, negative_slope=0.05))
    on_graph('gatv2/no_loops', pyg.GATv2Conv(5, 4, heads=2, add_self_loops=False))
    on_graph('gatv2/shared', pyg.GATv2Conv(5, 4, heads=2, share_weights=True))
    on_graph('gatv2/edges_mean', pyg.GATv2Conv(5, 4, heads=2, edge_dim=3), attr=3)
    on_graph('gatv2/edges_constant', pyg.GATv2Conv(5, 4, heads=2, edge_dim=1, fill_value=0.5), attr=1, one_number=True)
    on_relation('gatv2/bipartite', pyg.GATv2Conv((5, 3), 4, heads=2, add_self_loops=False, residual=True))
    on_relation('gatv2/bipartite_loops', pyg.GATv2Conv((5, 3), 4, heads=2, edge_dim=2), attr=2)

    on_graph('transformer/one_head', pyg.TransformerConv(5, 4))
    on_graph('transformer/heads', pyg.TransformerConv(5, 4, heads=3))
    on_graph('transformer/mean', pyg.TransformerConv(5, 4, heads=2, concat=False, bias=False))
    on_graph('transformer/rootless', pyg.TransformerConv(5, 4, heads=2, root_weight=False, beta=True))
    on_graph('transformer/gate', pyg.TransformerConv(5, 4, heads=2, beta=True))
    on_graph('transformer/gate_mean', pyg.TransformerConv(5, 4, heads=2, beta=True, concat=False), attr=None)
    on_graph('transformer/edges', pyg.TransformerConv(5, 4, heads=2, edge_dim=3), attr=3)
    on_graph('transformer/edges_gate', pyg.TransformerConv(5, 4, heads=2, edge_dim=1, beta=True), attr=1)
    on_relation('transformer/bipartite', pyg.TransformerConv((5, 3), 4, heads=2, edge_dim=2), attr=2)

    on_graph('agnn/learned', pyg.AGNNConv())
    on_graph('agnn/fixed', pyg.AGNNConv(requires_grad=False))
    on_graph('agnn/no_loops', pyg.AGNNConv(add_self_loops=False))


def sage(new):
    def on_graph(name, layer, width):
        edge_index = edges(True)
        case(new(f'sage/{name}'), layer, lambda layer, x: layer(x, edge_index), edge_index, x=draw(NODES, width))

    for aggr in ('mean', 'max', 'sum'):
        on_graph(aggr, pyg.SAGEConv(4, 6, aggr=aggr), 4)
        on_graph(f'{aggr}_wide', pyg.SAGEConv(6, 4, aggr=aggr, bias=False), 6)
    on_graph('normalized', pyg.SAGEConv(4, 6, normalize=True), 4)
    on_graph('rootless', pyg.SAGEConv(4, 6, root_weight=False), 4)
    on_graph('pool', pyg.SAGEConv(4, 6, aggr='max', project=True), 4)
    edge_index = bipartite()
    case(new('sage/bipartite'), pyg.SAGEConv((5, 3), 4),
         lambda layer, x_src, x_dst: layer((x_src, x_dst), edge_index, size=(12, 9)), edge_index, x_src=draw(12, 5),
         x_dst=draw(9, 3))


def pna(new):
    def on_graph(name, fan_in, fan_out, aggregators, scalers, **options):
        edge_index = edges(True)
        degrees = torch.bincount(torch.bincount(edge_index[1], minlength=NODES))
        layer = pyg.PNAConv(fan_in, fan_out, aggregators, scalers, degrees, **options)
        group = new(f'pna/{name}')
        store(group, degrees=degrees)
        case(group, layer, lambda layer, x: layer(x, edge_index), edge_index, x=draw(NODES, fan_in))

    every = ['mean', 'min', 'max', 'std']
    on_graph('plain', 4, 6, every, ['identity', 'amplification', 'attenuation'])
    on_graph('towers', 4, 6, every + ['sum', 'var'], ['identity', 'linear', 'inverse_linear'], towers=2)
    on_graph('divided', 4, 6, ['mean', 'max'], ['identity', 'amplification'], towers=2, divide_input=True,
             post_layers=2, train_norm=True)


def recipes(new):
    batch = torch.tensor([0] * 7 + [1] + [3] * 12)
    for name, layer in (('pair_norm/plain', pyg.PairNorm()), ('pair_norm/scaled', pyg.PairNorm(scale=2.5)),
                        ('pair_norm/individually', pyg.PairNorm(scale=0.5, scale_individually=True)),
                        ('graph_norm', pyg.GraphNorm(5))):
        case(new(name), layer, lambda layer, x: layer(x), None, x=draw(NODES, 5, shift=1.0))
        case(new(f'{name}_batch'), layer, lambda layer, x: layer(x, batch, 4), None, x=draw(NODES, 5, shift=1.0))
    for mode in ('cat', 'max'):
        case(new(f'jumping_knowledge/{mode}'), pyg.JumpingKnowledge(mode),
             lambda layer, a, b, c: layer([a, b, c]), None, a=draw(NODES, 3), b=draw(NODES, 3), c=draw(NODES, 3))
    for name, channels in (('lstm', 3), ('lstm_even', 6)):
        case(new(f'jumping_knowledge/{name}'), pyg.JumpingKnowledge('lstm', channels, 3),
             lambda layer, a, b, c: layer([a, b, c]), None, a=draw(NODES, channels), b=draw(NODES, channels),
             c=draw(NODES, channels))


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
        convolutions(new)
        recipes(new)
        attentions(new)
        sage(new)
        pna(new)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
