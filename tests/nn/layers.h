#pragma once

// All layers over graphs, for tests of all of them.
#include "../support.h"
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/conv/appnp.h>
#include <adjoint/nn/conv/cheb_conv.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/conv/gcn2_conv.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/conv/hgt_conv.h>
#include <adjoint/nn/conv/pna_conv.h>
#include <adjoint/nn/conv/rgat_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/conv/sage_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/conv/tag_conv.h>
#include <adjoint/nn/conv/transformer_conv.h>
#include <adjoint/nn/jumping_knowledge.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/graph_norm.h>

namespace adj::test {

/// The output and the gradients of parameters that have one, for a random gradient of the output.
template <class Layer, class X>
std::vector<Tensor> pass(Layer& layer, const Graph& graph, const X& x) {
  layer.zero_grad();
  const Var y = layer(graph, x);
  Generator generator(2);
  y.backward(random_normal(y.shape(), 0.0, 1.0, generator, y.dtype(), y.device()));
  std::vector<Tensor> all{y.value()};
  for (const auto& [name, parameter] : layer.named_parameters())
    if (parameter.grad()) all.push_back(parameter.grad().clone());
  return all;
}

}  // namespace adj::test
