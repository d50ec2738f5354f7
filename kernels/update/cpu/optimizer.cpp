#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/update/rules.h>

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

/// One step by the rule that rule_for<T>() returns.
template <class MakeRule>
void update(std::span<UpdateSlot> slots, const Tensor& learning_rate, Tensor& step, MakeRule&& rule_for) {
  const auto finished = static_cast<double>(++*step.mutable_data<int64_t>());
  const double rate = *learning_rate.data<double>();
  for (UpdateSlot& slot : slots)
    dispatch_features(slot.parameter.dtype(), [&]<class P>() {
      using T = Accumulator<P>;
      const auto rule = rule_for.template operator()<T>();
      using Rule = std::remove_const_t<decltype(rule)>;
      const typename Rule::Coefficients c = rule.coefficients(finished, rate);
      const Weights<P> p(slot);
      const P* g = slot.gradient.data<P>();
      T *first = mutable_data_or_null<T>(slot.first), *second = mutable_data_or_null<T>(slot.second);
      parallel_for(slot.parameter.numel(), Rule::kStates == 2 ? kCostlyGrain : kGrain,
                   [=](int64_t begin, int64_t end) {
#pragma omp simd
                     for (int64_t i = begin; i < end; ++i) {
                       T weight = p[i], m = 0, v = 0;
                       if constexpr (Rule::kStates >= 1) m = first[i];
                       if constexpr (Rule::kStates >= 2) v = second[i];
                       Rule::update(c, weight, static_cast<T>(g[i]), m, v);
                       if constexpr (Rule::kStates >= 1) first[i] = m;
                       if constexpr (Rule::kStates >= 2) second[i] = v;
                       p.set(i, weight);
                     }
                   });
    });
}

}  // namespace

void sgd_update(const SgdUpdateArgs& args) {
  const auto run = [&]<bool kMomentum>() {
    update(args.slots, args.learning_rate, args.step,
           [&]<class T>() { return Sgd<T, kMomentum>{args.rule}; });
  };
  args.rule.momentum != 0.0 ? run.template operator()<true>() : run.template operator()<false>();
}

void adam_update(const AdamUpdateArgs& args) {
  update(args.slots, args.learning_rate, args.step, [&]<class T>() { return Adam<T>{args.rule}; });
}

void adagrad_update(const AdagradUpdateArgs& args) {
  update(args.slots, args.learning_rate, args.step, [&]<class T>() { return Adagrad<T>{args.rule}; });
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
