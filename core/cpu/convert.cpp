#include <adjoint/core/convert.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace adj::cpu {

namespace {

constexpr int64_t kGrain = 1 << 16;

template <class To, class From>
To cast(From value) {
  if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, bfloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, int64_t> && std::is_same_v<To, int32_t>) {
    using Limits = std::numeric_limits<int32_t>;
    return static_cast<int32_t>(std::clamp(value, int64_t{Limits::min()}, int64_t{Limits::max()}));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

void convert(const Tensor& source, Tensor& target) {
  dispatch_all(source.dtype(), [&]<class From>() {
    dispatch_all(target.dtype(), [&]<class To>() {
      const From* in = source.data<From>();
      To* out = target.mutable_data<To>();
      parallel_for(source.numel(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = cast<To>(in[i]);
      });
    });
  });
}

void fill(Tensor& tensor, double value) {
  dispatch_all(tensor.dtype(), [&]<class T>() {
    T* out = tensor.mutable_data<T>();
    const T filler = cast<T>(value);
    parallel_for(tensor.numel(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = filler;
    });
  });
}

}  // namespace adj::cpu
