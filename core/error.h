#pragma once

#include <stdexcept>

// fmt 9 assumes that nvcc lacks constexpr, and is then not valid C++20.
#if defined(__NVCC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1
#endif
#include <fmt/core.h>

namespace adj {

/// Base of all exceptions in Adjoint. The message is one line: the operation, the shapes or names involved,
/// and what was expected.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file (dataset, checkpoint, output) is invalid: the message names the file, the position in it and what
/// was expected there. Programs exit with status 1.
class DataError : public Error {
 public:
  using Error::Error;
};

/// Incorrect command line: unknown option, value out of range. Programs exit with status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Not enough device memory for a tensor. The message gives the tensor, its size, the memory in use and
/// possible remedies.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Throws Error with the formatted message, for fail(). Out of line, to keep the callers' success path small.
[[noreturn, gnu::cold]] void throw_error(fmt::string_view format, fmt::format_args args);
/// Same for data_fail().
[[noreturn, gnu::cold]] void throw_data_error(fmt::string_view format, fmt::format_args args);
/// Same for usage_fail().
[[noreturn, gnu::cold]] void throw_usage_error(fmt::string_view format, fmt::format_args args);

/// `fail("matmul: {} and {}, expected equal inner extents", a, b)` throws Error.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(format, fmt::make_format_args(args...));
}

/// `data_fail("{}: nodes/x is [{}, {}], expected {} rows", path, …)`.
template <class... Args>
[[noreturn]] void data_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_data_error(format, fmt::make_format_args(args...));
}

/// `usage_fail("--split: expected 0 to {}, got {}", count - 1, split)`.
template <class... Args>
[[noreturn]] void usage_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_usage_error(format, fmt::make_format_args(args...));
}

}  // namespace adj

/// Throws adj::Error with the formatted message unless `condition` holds. The arguments are evaluated only on
/// failure.
#define ADJ_CHECK(condition, ...)  \
  do {                             \
    if (!(condition)) [[unlikely]] \
      ::adj::fail(__VA_ARGS__);    \
  } while (false)
