#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/update/optimizer.h>

#include <cmath>

namespace adj::kernels::cpu {

// Each element is read and written once, for any rule: parameter, gradient and states in one pass.

namespace {

/// A parameter in its compute type.
template <class P>
struct Weights {
  P* parameter;

  explicit Weights(UpdateSlot& slot) : parameter(slot.parameter.mutable_data<P>()) {}
  P operator[](int64_t i) const { return parameter[i]; }
  void set(int64_t i, P value) const { parameter[i] = value; }
};

template <>
struct Weights<bfloat16> {
  bfloat16* parameter;
  float* master;

  explicit Weights(UpdateSlot& slot)
      : parameter(slot.parameter.mutable_data<bfloat16>()), master(slot.master.mutable_data<float>()) {}
  float operator[](int64_t i) const { return weight_of(master[i], parameter[i]); }
  void set(int64_t i, float value) const {
    master[i] = value;
    parameter[i] = bfloat16(value);
  }
};

template <class P>
void sgd(UpdateSlot& slot, const SgdRule& rule, double learning_rate) {
  using T = Accumulator<P>;
  const Weights<P> p(slot);
  const P* g = slot.gradient.data<P>();
  const T rate = static_cast<T>(learning_rate), decay = static_cast<T>(rule.weight_decay);
  if (rule.momentum == 0.0) {
    parallel_for(slot.parameter.numel(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T weight = p[i];
        p.set(i, weight - rate * (static_cast<T>(g[i]) + decay * weight));
      }
    });
    return;
  }
  T* v = slot.first.mutable_data<T>();
  const T momentum = static_cast<T>(rule.momentum);
  // Nesterov's step is the gradient plus momentum times the updated state; the plain one is the updated
  // state.
  const T now = rule.nesterov ? T{1} : T{0}, ahead = rule.nesterov ? momentum : T{1};
  parallel_for(slot.parameter.numel(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const T weight = p[i], gradient = static_cast<T>(g[i]) + decay * weight;
      v[i] = momentum * v[i] + gradient;
      p.set(i, weight - rate * (now * gradient + ahead * v[i]));
    }
  });
}

template <class P>
void adam(UpdateSlot& slot, const AdamRule& rule, double learning_rate, double step) {
  using T = Accumulator<P>;
  const Weights<P> p(slot);
  const P* g = slot.gradient.data<P>();
  T *m = slot.first.mutable_data<T>(), *v = slot.second.mutable_data<T>();
  const T beta1 = static_cast<T>(rule.beta1), rest1 = static_cast<T>(1.0 - rule.beta1);
  const T beta2 = static_cast<T>(rule.beta2), rest2 = static_cast<T>(1.0 - rule.beta2);
  const T eps = static_cast<T>(rule.eps);
  const T rate = static_cast<T>(learning_rate / (1.0 - std::pow(rule.beta1, step)));
  const T unbias2 = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(rule.beta2, step)));
  const T coupled = static_cast<T>(rule.decoupled ? 0.0 : rule.weight_decay);
  const T shrink = static_cast<T>(rule.decoupled ? 1.0 - learning_rate * rule.weight_decay : 1.0);
  parallel_for(slot.parameter.numel(), kCostlyGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const T weight = p[i], gradient = static_cast<T>(g[i]) + coupled * weight;
      m[i] = beta1 * m[i] + rest1 * gradient;
      v[i] = beta2 * v[i] + rest2 * gradient * gradient;
      p.set(i, shrink * weight - rate * m[i] / (std::sqrt(v[i]) * unbias2 + eps));
    }
  });
}

}  // namespace

void sgd_update(const SgdUpdateArgs& args) {
  const SgdRule rule = args.rule;
  ++*args.step.mutable_data<int64_t>();
  const double rate = *args.learning_rate.data<double>();
  for (UpdateSlot& slot : args.slots)
    dispatch_features(slot.parameter.dtype(), [&]<class T>() { sgd<T>(slot, rule, rate); });
}

void adam_update(const AdamUpdateArgs& args) {
  const AdamRule rule = args.rule;
  int64_t& finished = *args.step.mutable_data<int64_t>();
  const double rate = *args.learning_rate.data<double>();
  ++finished;
  for (UpdateSlot& slot : args.slots)
    dispatch_features(slot.parameter.dtype(),
                      [&]<class T>() { adam<T>(slot, rule, rate, static_cast<double>(finished)); });
}

void global_norm(const GlobalNormArgs& args) {
  double sum = 0.0;
  for (const Tensor& tensor : args.tensors)
    dispatch_features(tensor.dtype(), [&]<class T>() {
      const T* x = tensor.data<T>();
      sum += sum_of_chunks(tensor.numel(), kGrain, [=](int64_t begin, int64_t end) {
        return sum_of<double>(end - begin, [=](int64_t i) {
          const auto value = static_cast<double>(static_cast<Accumulator<T>>(x[begin + i]));
          return value * value;
        });
      });
    });
  *args.norm.mutable_data<double>() = std::sqrt(sum);
}

void clip_to_norm(const ClipToNormArgs& args) {
  const double max_norm = args.max_norm;
  const double length = *args.norm.data<double>();
  if (!(length > max_norm)) return;
  for (Tensor& tensor : args.tensors)
    dispatch_features(tensor.dtype(), [&]<class T>() {
      T* x = tensor.mutable_data<T>();
      const auto factor = static_cast<Accumulator<T>>(max_norm / (length + 1e-6));
      map(tensor.numel(), x, [=](int64_t i) { return static_cast<Accumulator<T>>(x[i]) * factor; });
    });
}

}  // namespace adj::kernels::cpu
