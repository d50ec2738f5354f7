#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/update/rules.h>
#include <adjoint/kernels/update/sparse_update.h>

#include <vector>

namespace adj::kernels::cpu {

namespace {

/// The positions of `rows` by row, then by position: row << 32 | position, without rows of -1.
std::vector<uint64_t> sorted_rows(const char* op, const Tensor& rows, int64_t limit) {
  const int32_t* row = rows.data<int32_t>();
  std::vector<uint64_t> keys;
  keys.reserve(static_cast<size_t>(rows.numel()));
  for (int64_t k = 0; k < rows.numel(); ++k) {
    ADJ_CHECK(row[k] >= -1 && row[k] < limit, "{}: rows[{}] is {}, expected [-1, {})", op, k, row[k], limit);
    if (row[k] >= 0) keys.push_back(static_cast<uint64_t>(row[k]) << 32 | static_cast<uint64_t>(k));
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  return keys;
}

template <class MakeRule>
void update_rows(const char* op, UpdateSlot& slot, const Tensor& rows, const Tensor& learning_rate,
                 Tensor& step, bool distinct, MakeRule&& rule_for) {
  const std::vector<uint64_t> keys = sorted_rows(op, rows, slot.parameter.size(0));
  std::vector<size_t> starts;  // of the runs of one row
  for (size_t k = 0; k < keys.size(); ++k)
    if (k == 0 || keys[k] >> 32 != keys[k - 1] >> 32) starts.push_back(k);
  const auto runs = static_cast<int64_t>(starts.size());
  ADJ_CHECK(!distinct || runs == std::ssize(keys), "{}: {} rows of {} parameters, expected distinct ones", op,
            keys.size(), runs);
  starts.push_back(keys.size());
  const auto finished = static_cast<double>(++*step.mutable_data<int64_t>());
  const double rate = *learning_rate.data<double>();
  const int64_t width = slot.parameter.size(1);
  dispatch_float(slot.parameter.dtype(), op, [&]<class T>() {
    const auto rule = rule_for.template operator()<T>();
    using Rule = std::remove_const_t<decltype(rule)>;
    const typename Rule::Coefficients c = rule.coefficients(finished, rate);
    T* parameter = slot.parameter.mutable_data<T>();
    const T* gradient = slot.gradient.data<T>();
    T *first = mutable_data_or_null<T>(slot.first), *second = mutable_data_or_null<T>(slot.second);
    parallel_for(runs, row_grain(width, kCostlyGrain), [&](int64_t begin, int64_t end) {
      std::vector<T> sum(static_cast<size_t>(width));
      for (auto run = static_cast<size_t>(begin); run < static_cast<size_t>(end); ++run) {
        const T* g = gradient + static_cast<int64_t>(keys[starts[run]] & 0xffffffffu) * width;
        if (starts[run + 1] - starts[run] > 1) {
          std::copy(g, g + width, sum.begin());
          for (size_t k = starts[run] + 1; k < starts[run + 1]; ++k) {
            const T* more = gradient + static_cast<int64_t>(keys[k] & 0xffffffffu) * width;
#pragma omp simd
            for (int64_t i = 0; i < width; ++i) sum[static_cast<size_t>(i)] += more[i];
          }
          g = sum.data();
        }
        const int64_t place = static_cast<int64_t>(keys[starts[run]] >> 32) * width;
        T *p = parameter + place, *m = first + place, *v = Rule::kStates >= 2 ? second + place : nullptr;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
          T weight = p[i], m_now = m[i], v_now = 0;
          if constexpr (Rule::kStates >= 2) v_now = v[i];
          Rule::update(c, weight, g[i], m_now, v_now);
          p[i] = weight;
          m[i] = m_now;
          if constexpr (Rule::kStates >= 2) v[i] = v_now;
        }
      }
    });
  });
}

}  // namespace

void sparse_adam_update(const SparseAdamUpdateArgs& args) {
  update_rows("sparse_adam_update", args.slot, args.rows, args.learning_rate, args.step, args.distinct,
              [&]<class T>() { return Adam<T>{args.rule}; });
}

void sparse_adagrad_update(const SparseAdagradUpdateArgs& args) {
  update_rows("sparse_adagrad_update", args.slot, args.rows, args.learning_rate, args.step, args.distinct,
              [&]<class T>() { return Adagrad<T>{args.rule}; });
}

}  // namespace adj::kernels::cpu
