// Fused attention over the incoming edges of each target: per head, coefficients are a softmax of logits over
// a target's edges, and logits and coefficients are never stored (kernels/attention/). Features are [N,H,D]:
// H heads of width D. A target without edges gives 0 and no gradient.
//
// Saved for backward: the inputs, the output, and per target and head the log-sum-exp (for GAT also the two
// terms per node and head that its logits are sums of). Nothing of size M x F is made. Tensors of size M x H
// exist only during a pass: terms of edge features, and data shared by the two halves of the backward pass.
// Attention dropout is redrawn in the backward pass.
#pragma once

#include <adjoint/autograd/additive_attention.h>
#include <adjoint/autograd/dot_attention.h>
