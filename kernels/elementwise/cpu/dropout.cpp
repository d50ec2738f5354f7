#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/cpu/activation_functions.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>
#include <adjoint/kernels/elementwise/dropout.h>

namespace adj::kernels::cpu {

namespace {

/// output[i] = function(i, is it kept?) for i < n.
template <class S, class F>
void map_kept(int64_t n, const RandomKey& key, const DropoutRule& rule, S* output, F function) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    DropoutMask mask(key, rule);
    const uint32_t threshold = mask.threshold();
    for (int64_t position = begin; position < end; position += DropoutMask::kMost) {
      const int64_t count = std::min(DropoutMask::kMost, end - position);
      const uint16_t* draws = mask.draw(position, count);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i)
        output[position + i] =
            narrow<S>(function(position + i, static_cast<uint32_t>(draws[i]) >= threshold));
    }
  });
}

}  // namespace

void dropout(const DropoutArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    dispatch_activation(args.activation, [&]<Activation A>() {
      using T = Accumulator<S>;
      const S* x = args.x.data<S>();
      const T slope = args.slope, scale = args.rule.scale;
      map_kept(args.x.numel(), args.key, args.rule, args.y.mutable_data<S>(), [=](int64_t i, bool kept) {
        const T y = activated<A>(widen(x[i]), slope) * scale;
        return kept ? y : T{0};
      });
    });
  });
}

void dropout_backward(const DropoutBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    dispatch_activation(args.activation, [&]<Activation A>() {
      using T = Accumulator<S>;
      const S* x = args.x.data<S>();
      const S* dy = args.dy.data<S>();
      const T slope = args.slope, scale = args.rule.scale;
      map_kept(args.x.numel(), args.key, args.rule, args.dx.mutable_data<S>(), [=](int64_t i, bool kept) {
        const T gradient = widen(dy[i]) * scale;
        return (kept ? gradient : T{0}) * activation_slope<A>(widen(x[i]), slope);
      });
    });
  });
}

void bernoulli(const BernoulliArgs& args) {
  const float* p = args.p.data<float>();
  auto* y = args.y.mutable_data<uint8_t>();
  const uint64_t seed = args.key.seed, stream = stream_of(args.key);
  for_each_index(args.p.numel(), kCostlyGrain,
                 [=](int64_t i) { y[i] = bernoulli_of(p[i], seed, stream, i); });
}

}  // namespace adj::kernels::cpu
