#include <adjoint/autograd/index.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/nn/embedding.h>
#include <adjoint/nn/init.h>

#include <utility>

namespace adj::nn {

Embedding::Embedding(int64_t rows, int64_t width) {
  ADJ_CHECK(rows >= 0 && width > 0, "Embedding: {} rows of {} numbers, expected 0 and 1 or more", rows,
            width);
  add_parameter("weight", weight, rows > 0 ? glorot_uniform(rows, width) : Tensor::zeros({0, width}));
}

Var Embedding::operator()(const Tensor& numbers, bool distinct) const {
  if (!collects_ || !training() || NoGrad::in_force()) return index_select(weight, numbers);
  const NoGrad no_grad;
  Var rows = Var::parameter(index_select(weight, numbers).value());
  taken_.push_back({numbers, rows, distinct});
  return rows;
}

std::optional<Embedding::Rows> Embedding::take_rows() const {
  const NoGrad no_grad;
  std::optional<Rows> found;
  for (const auto& [numbers, rows, distinct] : std::exchange(taken_, {})) {
    if (!rows.grad()) continue;
    if (!found) {
      found = Rows{numbers, rows.grad(), distinct};
      continue;
    }
    found = Rows{detail::concatenated(found->numbers, numbers),
                 detail::concatenated(found->gradient, rows.grad()), false};
  }
  return found;
}

std::string Embedding::describe() const {
  return fmt::format("Embedding({}, {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
