#pragma once

#include "../support.h"
#include <adjoint/nn/module.h>

#include <algorithm>
#include <map>
#include <string>

namespace adj::test {

/// A copy of the state of a module or an optimizer.
template <class Owner>
std::map<std::string, Tensor> copied(const Owner& owner) {
  std::map<std::string, Tensor> copy;
  for (const auto& [name, tensor] : owner.state()) copy[name] = tensor.clone();
  return copy;
}

inline bool equal(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same_bits(x.second, y.second);
  });
}

}  // namespace adj::test
