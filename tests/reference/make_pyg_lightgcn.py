#!/usr/bin/env python3
"""Writes pyg_lightgcn.h5, which tests/models/light_gcn_test.cpp holds LightGCN, its loss and the metrics of lists against.

Run by hand: python3 make_pyg_lightgcn.py [OUT.h5]. Needs torch, torch_geometric and h5py. The same versions give the same file.
"""
import os
import sys

import h5py
import numpy as np
import torch
import torch_geometric
from torch_geometric import metrics
from torch_geometric.nn import LightGCN

from make_pyg_reference import draw, rng, store

USERS, ITEMS, WIDTH, BATCH = 9, 7, 5, 12
METRICS = {'precision': metrics.LinkPredPrecision, 'recall': metrics.LinkPredRecall, 'f1': metrics.LinkPredF1, 'map': metrics.LinkPredMAP,
           'ndcg': metrics.LinkPredNDCG, 'mrr': metrics.LinkPredMRR, 'hit_ratio': metrics.LinkPredHitRatio}


def model(group, layers, alphas, penalty):
    """Propagation, loss and gradients in float64. The last user and the last item have no interaction."""
    pairs = np.unique(rng.integers(0, (USERS - 1, ITEMS - 1), (25, 2)), axis=0)
    user, item = torch.tensor(pairs.T.copy())
    edge_index = torch.stack([torch.cat([user, USERS + item]), torch.cat([USERS + item, user])])
    layer = LightGCN(USERS + ITEMS, WIDTH, layers, alpha=None if alphas is None else torch.tensor(alphas, dtype=torch.float64)).double()
    if alphas is None:
        layer.alpha = torch.full((layers + 1,), 1 / (layers + 1), dtype=torch.float64)
    x = draw(USERS + ITEMS, WIDTH)
    with torch.no_grad():
        layer.embedding.weight.copy_(x)
    chosen = rng.integers(0, len(pairs), BATCH)  # with repeats
    rows = torch.cat([user[chosen], USERS + item[chosen], torch.tensor(USERS + rng.integers(0, ITEMS, BATCH))])
    one, liked, other = rows.view(3, BATCH)
    y = layer.get_embedding(edge_index)
    rank = layer(edge_index, torch.stack([torch.cat([one, one]), torch.cat([liked, other])]))
    loss = layer.recommendation_loss(rank[:BATCH], rank[BATCH:], node_id=rows, lambda_reg=penalty)
    loss.backward()
    store(group, pairs=pairs, x=x, y=y, rows=rows, loss=loss, dx=layer.embedding.weight.grad)
    group.attrs['penalty'] = penalty
    group.create_dataset('alphas', data=np.array([] if alphas is None else alphas, dtype=np.float32))
    group.attrs['layers'] = layers


def lists(group, users, items, k):
    """Lists of k of `items` distinct items, and what was to be found, for some users nothing."""
    found = torch.tensor(np.array([rng.permutation(items)[:k] for _ in range(users)]))
    wanted = rng.random((users, items)) < rng.random((users, 1)) * 0.4
    wanted[[1, users - 2]] = False
    truth = torch.tensor(np.array(np.nonzero(wanted)))
    popularity = torch.tensor(rng.integers(1, 90, items))
    labelled = torch.tensor(wanted.any(1))
    for name, metric in METRICS.items():
        measured = metric(k)
        measured.update(found, truth)
        group.attrs[name] = float(measured.compute())
    for name, measured in (('coverage', metrics.LinkPredCoverage(k, items)), ('personalization', metrics.LinkPredPersonalization(k)),
                           ('popularity', metrics.LinkPredAveragePopularity(k, popularity))):
        measured.update(found[labelled], truth)
        group.attrs[name] = float(measured.compute())
    group.attrs['users'] = int(labelled.sum())
    store(group, lists=found, user=truth[0], item=truth[1], popularity=popularity)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, 'pyg_lightgcn.h5')
    torch.set_default_dtype(torch.float64)
    with h5py.File(out, 'w', libver='latest') as file:
        file.attrs['torch'] = str(torch.__version__)
        file.attrs['torch_geometric'] = str(torch_geometric.__version__)
        model(file.create_group('average'), 3, None, 1e-2)
        model(file.create_group('alphas'), 2, [0.5, 0.125, 2.0], 0.0)
        model(file.create_group('factors'), 0, None, 0.25)
        lists(file.create_group('lists'), 40, 60, 10)
        lists(file.create_group('first'), 7, 5, 1)
    print(f'{out}: {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
