#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/loss.h>

#include <limits>

namespace adj::kernels::cpu {

namespace {

/// The rows that a loss is taken over.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;

  int64_t row(int64_t k) const { return index != nullptr ? index[k] : k; }
};

Selection selection_of(std::string_view op, const Tensor& x, const Tensor& index) {
  if (!index) return {nullptr, x.size(0)};
  require_in_range(op, "index", index, x.size(0));
  return {index.data<int32_t>(), index.numel()};
}

/// Zeros where no row is selected; nothing to do where all are.
template <class T>
void clear_unselected(const Selection& selection, int64_t n, T* dx) {
  if (selection.index == nullptr) return;
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) { std::fill(dx + begin, dx + end, T{0}); });
}

int32_t checked_label(std::string_view op, const int32_t* label, int64_t row, int64_t classes) {
  const int32_t c = label[row];
  ADJ_CHECK(c >= 0 && c < classes, "{}: label[{}] is {}, expected [0, {})", op, row, c, classes);
  return c;
}

template <class T>
T largest_of(const T* row, int64_t width) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t c = 0; c < width; ++c) largest = row[c] > largest ? row[c] : largest;
  return largest;
}

/// The two losses that are sums over elements, by their term and its derivative.
struct Bce {
  template <class T>
  static T term(T x, T t) {
    return (x > T{0} ? x : T{0}) - x * t + fast_log1p(fast_exp(-std::abs(x)));
  }
  template <class T>
  static T slope(T x, T t) {
    const T e = fast_exp(-std::abs(x));
    return (x < T{0} ? e : T{1}) / (T{1} + e) - t;
  }
};
struct SquaredError {
  template <class T>
  static T term(T x, T t) {
    return (x - t) * (x - t);
  }
  template <class T>
  static T slope(T x, T t) {
    return T{2} * (x - t);
  }
};

template <class Loss>
void mean_of_terms(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index,
                   Tensor& loss) {
  const Selection selection = selection_of(op, x, index);
  const int64_t width = x.size(1);
  dispatch_float(x.dtype(), op, [&]<class T>() {
    const T *in = x.data<T>(), *goal = target.data<T>();
    const auto terms = [=](int64_t begin, int64_t end) {
      return sum_of<double>(end - begin, [=](int64_t i) {
        return static_cast<double>(Loss::term(in[begin + i], goal[begin + i]));
      });
    };
    const double sum =
        selection.index == nullptr
            ? sum_of_chunks(x.numel(), kCostlyGrain, terms)
            : sum_of_chunks(selection.count, row_grain(width, kCostlyGrain), [=](int64_t begin, int64_t end) {
                double rows = 0.0;
                for (int64_t k = begin; k < end; ++k) {
                  const int64_t at = selection.row(k) * width;
                  rows += terms(at, at + width);
                }
                return rows;
              });
    *loss.mutable_data<T>() = static_cast<T>(sum / static_cast<double>(selection.count * width));
  });
}

template <class Loss>
void mean_of_terms_backward(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index,
                            const Tensor& dloss, Tensor& dx) {
  const Selection selection = selection_of(op, x, index);
  const int64_t width = x.size(1);
  dispatch_float(x.dtype(), op, [&]<class T>() {
    const T *in = x.data<T>(), *goal = target.data<T>();
    T* grad = dx.mutable_data<T>();
    const T factor = *dloss.data<T>() / static_cast<T>(selection.count * width);
    clear_unselected(selection, x.numel(), grad);
    const auto slopes = [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) grad[i] = factor * Loss::slope(in[i], goal[i]);
    };
    if (selection.index == nullptr) {
      parallel_for(x.numel(), kCostlyGrain, slopes);
    } else {
      parallel_for(selection.count, row_grain(width, kCostlyGrain), [=](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          slopes(selection.row(k) * width, (selection.row(k) + 1) * width);
      });
    }
  });
}

}  // namespace

void softmax_cross_entropy(const Tensor& x, const Tensor& label, const Tensor& index, Tensor& loss) {
  const Selection selection = selection_of("softmax_cross_entropy", x, index);
  const int64_t classes = x.size(1);
  dispatch_float(x.dtype(), "softmax_cross_entropy", [&]<class T>() {
    const T* in = x.data<T>();
    const int32_t* labels = label.data<int32_t>();
    const double sum =
        sum_of_chunks(selection.count, row_grain(classes, kCostlyGrain), [=](int64_t begin, int64_t end) {
          double chunk = 0.0;
          for (int64_t k = begin; k < end; ++k) {
            const int64_t i = selection.row(k);
            const T* row = in + i * classes;
            const T largest = largest_of(row, classes);
            const T total = sum_of<T>(classes, [=](int64_t c) { return fast_exp(row[c] - largest); });
            const int32_t truth = checked_label("softmax_cross_entropy", labels, i, classes);
            chunk += static_cast<double>(fast_log(total) + (largest - row[truth]));
          }
          return chunk;
        });
    *loss.mutable_data<T>() = static_cast<T>(sum / static_cast<double>(selection.count));
  });
}

void softmax_cross_entropy_backward(const Tensor& x, const Tensor& label, const Tensor& index,
                                    const Tensor& dloss, Tensor& dx) {
  const Selection selection = selection_of("softmax_cross_entropy_backward", x, index);
  const int64_t classes = x.size(1);
  dispatch_float(x.dtype(), "softmax_cross_entropy_backward", [&]<class T>() {
    const T* in = x.data<T>();
    const int32_t* labels = label.data<int32_t>();
    T* grad = dx.mutable_data<T>();
    const T mean = *dloss.data<T>() / static_cast<T>(selection.count);
    clear_unselected(selection, x.numel(), grad);
    parallel_for(selection.count, row_grain(classes, kCostlyGrain), [=](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t i = selection.row(k);
        const T* row = in + i * classes;
        T* out = grad + i * classes;
        const T largest = largest_of(row, classes);
        T total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t c = 0; c < classes; ++c) {
          out[c] = fast_exp(row[c] - largest);
          total += out[c];
        }
        const T factor = mean / total;
#pragma omp simd
        for (int64_t c = 0; c < classes; ++c) out[c] *= factor;
        out[checked_label("softmax_cross_entropy_backward", labels, i, classes)] -= mean;
      }
    });
  });
}

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss) {
  mean_of_terms<Bce>("bce_with_logits", x, target, index, loss);
}
void bce_with_logits_backward(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& dloss,
                              Tensor& dx) {
  mean_of_terms_backward<Bce>("bce_with_logits_backward", x, target, index, dloss, dx);
}
void mse(const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss) {
  mean_of_terms<SquaredError>("mse", x, target, index, loss);
}
void mse_backward(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& dloss,
                  Tensor& dx) {
  mean_of_terms_backward<SquaredError>("mse_backward", x, target, index, dloss, dx);
}

}  // namespace adj::kernels::cpu
