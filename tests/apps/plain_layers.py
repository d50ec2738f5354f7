"""Attention layers by the equations of PyG's, in numpy and float64, with the weights of a checkpoint."""
from programs import datasets_in, np


def weights_of(checkpoint):
    """The best weights, or the last ones where there are no best."""
    tensors = datasets_in(checkpoint, "tensors")
    prefix = "best." if any(name.startswith("best.") for name in tensors) else "model."
    return {name[len(prefix):]: value.astype(np.float64) for name, value in tensors.items() if name.startswith(prefix)}


def layer_of(weights, number):
    prefix = f"convs.{number}."
    return {name[len(prefix):]: value for name, value in weights.items() if name.startswith(prefix)}


def summed(dst, messages, nodes):
    total = np.zeros((nodes, *messages.shape[1:]))
    np.add.at(total, dst, messages)
    return total


def with_loops(src, dst, attr, nodes):
    """PyG's remove_self_loops, and add_self_loops with fill_value "mean": of the attributes of a node's other in-edges."""
    keep, every = src != dst, np.arange(nodes)
    if attr is not None:
        count = np.bincount(dst[keep], minlength=nodes)
        attr = np.r_[attr[keep], summed(dst[keep], attr[keep], nodes) / np.maximum(count, 1)[:, None]]
    return np.r_[src[keep], every], np.r_[dst[keep], every], attr


def attend(kind, w, h, src, dst, attr, heads):
    """Coefficients [M, heads] and their sums over in-edges [N, heads, D] of a layer gat, gatv2 (with loops) or transformer."""
    by_head = lambda v: v.reshape(len(v), heads, -1)
    lin = lambda name: by_head(h @ w[f"{name}.weight"] + w.get(f"{name}.bias", 0.0))
    leaky = lambda v: np.where(v > 0, v, 0.2 * v)
    edge = 0.0 if attr is None else by_head(attr @ w["lin_edge.weight"])
    if kind == "gat":
        sent = lin("lin")
        of_edges = 0.0 if attr is None else (edge * w["att_edge"]).sum(2)
        logits = leaky((sent * w["att_src"]).sum(2)[src] + (sent * w["att_dst"]).sum(2)[dst] + of_edges)
        sent = sent[src]
    elif kind == "gatv2":
        sent = lin("lin_l")[src]
        logits = (leaky(sent + lin("lin_r")[dst] + edge) * w["att"]).sum(2)
    else:
        query, sent = lin("lin_query"), lin("lin_value")[src] + edge
        logits = (query[dst] * (lin("lin_key")[src] + edge)).sum(2) / np.sqrt(query.shape[2])
    most = np.full((len(h), heads), -np.inf)
    np.maximum.at(most, dst, logits)
    e = np.exp(logits - most[dst])
    alpha = e / summed(dst, e, len(h))[dst]
    return alpha, summed(dst, alpha[:, :, None] * sent, len(h))
