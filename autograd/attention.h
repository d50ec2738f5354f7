// Attention over the edges into each target, in one pass over their sources: coefficients are a softmax of
// logits over a target's edges, by head, and no logit or coefficient outlives the pass (kernels/attention/).
// Features are [N,H,D]: H heads of width D. A target without edges gives 0 and no gradient.
//
// Saved for backward: the inputs, the output, and of each target and head the log of the sum of exponentials
// (and, of GAT, the two terms of a node and head that its logits are sums of). Nothing of size M x F is made,
// and of size M x H only, while a pass needs it, what edge features make and what the two halves of the
// backward pass share. Attention dropout is drawn again in the backward pass.
#pragma once

#include <adjoint/autograd/additive_attention.h>
#include <adjoint/autograd/dot_attention.h>
