#pragma once

#include <adjoint/kernels/update/optimizer.h>

#include <cmath>
#include <type_traits>

// The optimizers' steps for one element, on either device. A rule's `Coefficients` are those of step `step`,
// and update() changes a parameter `p` with gradient `g` and the `kStates` states of the rule.
namespace adj::kernels {

/// Stochastic gradient descent, with momentum or without.
template <class T, bool kMomentum>
struct Sgd {
  static constexpr int kStates = kMomentum ? 1 : 0;  ///< v: the momentum
  SgdRule rule;                                      ///< its options

  /// Factors of a step: p -= rate (now gradient + ahead v), the gradient with `decay` times p.
  struct Coefficients {
    T rate;      ///< the learning rate
    T decay;     ///< weight decay
    T momentum;  ///< of the last v
    T now;       ///< of the gradient
    T ahead;     ///< of the new v
  };
  /// The same for every step.
  ADJ_HOST_DEVICE Coefficients coefficients(double, double learning_rate) const {
    const T momentum = static_cast<T>(rule.momentum);
    // Nesterov's step is the gradient plus momentum times the updated state; the plain one is the updated
    // state.
    return {static_cast<T>(learning_rate), static_cast<T>(rule.weight_decay), momentum,
            rule.nesterov ? T{1} : T{0}, rule.nesterov ? momentum : T{1}};
  }
  /// Changes p and, with momentum, v.
  static ADJ_HOST_DEVICE void update(const Coefficients& c, T& p, T g, [[maybe_unused]] T& v, T&) {
    const T gradient = g + c.decay * p;
    if constexpr (kMomentum) {
      v = c.momentum * v + gradient;
      p -= c.rate * (c.now * gradient + c.ahead * v);
    } else {
      p -= c.rate * gradient;
    }
  }
};

/// Adam and AdamW.
template <class T>
struct Adam {
  static constexpr int kStates = 2;  ///< m and v: the moments
  AdamRule rule;                     ///< its options

  /// Factors of a step: p = shrink p - rate m / (√v unbias2 + eps).
  struct Coefficients {
    T rate;     ///< the learning rate over the first moment's bias
    T unbias2;  ///< one over the root of the second moment's bias
    T beta1;    ///< of the last m
    T rest1;    ///< 1 - beta1
    T beta2;    ///< of the last v
    T rest2;    ///< 1 - beta2
    T eps;      ///< added to the root
    T coupled;  ///< weight decay as part of the gradient (Adam)
    T shrink;   ///< of p, weight decay beside the gradient (AdamW)
  };
  /// Of step `step`, from 1.
  ADJ_HOST_DEVICE Coefficients coefficients(double step, double learning_rate) const {
    return {static_cast<T>(learning_rate / (1.0 - std::pow(rule.beta1, step))),
            static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(rule.beta2, step))),
            static_cast<T>(rule.beta1),
            static_cast<T>(1.0 - rule.beta1),
            static_cast<T>(rule.beta2),
            static_cast<T>(1.0 - rule.beta2),
            static_cast<T>(rule.eps),
            static_cast<T>(rule.decoupled ? 0.0 : rule.weight_decay),
            static_cast<T>(rule.decoupled ? 1.0 - learning_rate * rule.weight_decay : 1.0)};
  }
  /// Changes p, m and v.
  static ADJ_HOST_DEVICE void update(const Coefficients& c, T& p, T g, T& m, T& v) {
    const T gradient = g + c.coupled * p;
    m = c.beta1 * m + c.rest1 * gradient;
    v = c.beta2 * v + c.rest2 * gradient * gradient;
    p = c.shrink * p - c.rate * m / (std::sqrt(v) * c.unbias2 + c.eps);
  }
};

/// Adagrad.
template <class T>
struct Adagrad {
  static constexpr int kStates = 1;  ///< v: the sum of squares
  AdagradRule rule;                  ///< its options

  /// Factors of a step.
  struct Coefficients {
    T rate;   ///< the learning rate
    T decay;  ///< weight decay
    T eps;    ///< added to the root
  };
  /// The same for every step.
  ADJ_HOST_DEVICE Coefficients coefficients(double, double learning_rate) const {
    return {static_cast<T>(learning_rate), static_cast<T>(rule.weight_decay), static_cast<T>(rule.eps)};
  }
  /// Changes p and v.
  static ADJ_HOST_DEVICE void update(const Coefficients& c, T& p, T g, T& v, T&) {
    const T gradient = g + c.decay * p;
    v += gradient * gradient;
    p -= c.rate * gradient / (std::sqrt(v) + c.eps);
  }
};

}  // namespace adj::kernels
