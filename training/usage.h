#pragma once

#include <adjoint/core/error.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace adj::training {

/// Throws UsageError: `usage_fail("--split: expected 0 to {}, got {}", count - 1, split)`.
template <class... Args>
[[noreturn]] void usage_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

/// f(), whose errors become a DataError of that place in a file: "FILE: nodes/x: …".
template <class F>
auto at_place(const std::string& file, const char* place, F&& f) {
  try {
    return f();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const DataError&) {
    throw;
  } catch (const Error& error) {
    data_fail("{}: {}: {}", file, place, error.what());
  }
}

/// The number that the whole text is; empty if it is none.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace adj::training
