#pragma once

#include <string>

#include <doctest/doctest.h>

namespace adj::test {

/// "a, b, c", each as printed by doctest.
template <class First, class... Rest>
std::string listed(const First& first, const Rest&... rest) {
  doctest::String text = doctest::toString(first);
  ((text += ", ", text += doctest::toString(rest)), ...);
  return text.c_str();
}

}  // namespace adj::test

/// CAPTURE of several expressions on one line: "rows, width := 3, 7".
#define CAPTURES(...) INFO(#__VA_ARGS__ " := ", ::adj::test::listed(__VA_ARGS__))
