#pragma once

namespace adj::kernels {

/// Calls `f.template operator()<V>()` with the V of the list that equals `value`; with the last one if none
/// does.
template <auto kFirst, auto... kRest, class T, class F>
decltype(auto) dispatch_value(T value, F&& f) {
  if constexpr (sizeof...(kRest) > 0)
    if (value != kFirst) return dispatch_value<kRest...>(value, f);
  return f.template operator()<kFirst>();
}

}  // namespace adj::kernels
