#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/loss.h>

namespace adj::kernels {

namespace {

void check_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  check_matrix(op, "x", x);
  ADJ_CHECK(x.size(1) >= 1, "{}: x is {}, expected at least one column", op, x.str());
  if (index) check_index(op, "index", index, x.device());
  ADJ_CHECK((index ? index.numel() : x.size(0)) > 0, "{}: no row is selected", op);
}

void check_labels(std::string_view op, const Tensor& x, const Tensor& label, const Tensor& index) {
  check_selection(op, x, index);
  check_tensor(op, "label", label, {x.size(0)}, DType::i32, x.device());
}

void check_targets(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index) {
  check_selection(op, x, index);
  check_like(op, "target", target, x);
}

void check_gradient(std::string_view op, const Tensor& x, const Tensor& dloss, const Tensor& dx) {
  check_scalar(op, "dloss", dloss, x.dtype(), x.device());
  check_like(op, "dx", dx, x);
}

}  // namespace

void softmax_cross_entropy(const Tensor& x, const Tensor& label, const Tensor& index, Tensor& loss) {
  check_labels("softmax_cross_entropy", x, label, index);
  check_scalar("softmax_cross_entropy", "loss", loss, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), softmax_cross_entropy, x, label, index, loss);
}

void softmax_cross_entropy_backward(const Tensor& x, const Tensor& label, const Tensor& index,
                                    const Tensor& dloss, Tensor& dx) {
  check_labels("softmax_cross_entropy_backward", x, label, index);
  check_gradient("softmax_cross_entropy_backward", x, dloss, dx);
  ADJ_DISPATCH(x.device(), softmax_cross_entropy_backward, x, label, index, dloss, dx);
}

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss) {
  check_targets("bce_with_logits", x, target, index);
  check_scalar("bce_with_logits", "loss", loss, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), bce_with_logits, x, target, index, loss);
}

void bce_with_logits_backward(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& dloss,
                              Tensor& dx) {
  check_targets("bce_with_logits_backward", x, target, index);
  check_gradient("bce_with_logits_backward", x, dloss, dx);
  ADJ_DISPATCH(x.device(), bce_with_logits_backward, x, target, index, dloss, dx);
}

void mse(const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss) {
  check_targets("mse", x, target, index);
  check_scalar("mse", "loss", loss, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), mse, x, target, index, loss);
}

void mse_backward(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& dloss,
                  Tensor& dx) {
  check_targets("mse_backward", x, target, index);
  check_gradient("mse_backward", x, dloss, dx);
  ADJ_DISPATCH(x.device(), mse_backward, x, target, index, dloss, dx);
}

}  // namespace adj::kernels
