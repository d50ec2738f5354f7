#pragma once

#include "../../bench/ops/op.h"
#include "../support.h"

#include <algorithm>
#include <cmath>

namespace adj::test {

using ops::dropout_mask, ops::tolerance, ops::zipped;

/// Runs f(device, dtype) for every device and each dtype.
template <class F>
void on_devices(std::initializer_list<DType> dtypes, F f) {
  for (Device device : devices())
    for (DType dtype : dtypes) {
      CAPTURE(name_of(dtype));
      f(device, dtype);
    }
}

/// For float32 and float64.
template <class F>
void on_devices_and_floats(F f) {
  on_devices({DType::f32, DType::f64}, f);
}
/// For float32, float64 and bfloat16.
template <class F>
void on_devices_and_features(F f) {
  on_devices({DType::f32, DType::f64, DType::bf16}, f);
}

/// The numbers as a tensor.
inline Tensor tensor_of(const Numbers& x, const Shape& shape, DType dtype, Device device) {
  return Tensor::from(x, shape).to(dtype).to(device);
}
/// A copy that begins that many elements into an allocation: with 1 it is aligned to one element only.
inline Tensor at_offset(int64_t offset, const Tensor& x) {
  const Tensor room = Tensor::full({x.numel() + offset}, NAN, x.dtype(), x.device());
  Tensor view = room.rows(offset, offset + x.numel()).reshape(x.shape());
  view.copy_(x);
  return view;
}

/// f applied to every element.
template <class F>
Numbers mapped(const Tensor& x, F f) {
  Numbers y = values(x);
  std::transform(y.begin(), y.end(), y.begin(), f);
  return y;
}

/// Sums of the columns of x.
inline Numbers column_sums(const Tensor& x) {
  Numbers sums(uz(x.size(1)));
  const Numbers all = values(x);
  for (size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
  return sums;
}

/// Checks that exactly the elements with is_nan(k) are NaN.
template <class F>
void check_nan(const Tensor& x, F&& is_nan) {
  const Numbers numbers = values(x);
  for (size_t k = 0; k < numbers.size(); ++k) REQUIRE(std::isnan(numbers[k]) == is_nan(k));
}

}  // namespace adj::test
