#pragma once

#include <stdexcept>

// fmt 9 takes nvcc for a compiler without constexpr, and is then no valid C++20.
#if defined(__NVCC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1
#endif
#include <fmt/format.h>

namespace adj {

/// What every failure in Adjoint throws. The message names the operation, the shapes or names involved, and
/// what was expected, on one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file (dataset, checkpoint, output) is not what it must be: the message names the file, the place in it
/// and what was expected there. Programs exit with status 1.
class DataError : public Error {
 public:
  using Error::Error;
};

/// A program was called wrongly: unknown option, value out of range. Programs exit with status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A device has no memory left for a tensor. The message names it, its size, what is held and what would
/// help.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Out of line, for what calls them is on the way of every call that does not fail.
[[noreturn, gnu::cold]] void throw_error(fmt::string_view format, fmt::format_args args);
[[noreturn, gnu::cold]] void throw_data_error(fmt::string_view format, fmt::format_args args);

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(format, fmt::make_format_args(args...));
}

/// `data_fail("{}: nodes/x is [{}, {}], expected {} rows", path, …)`.
template <class... Args>
[[noreturn]] void data_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_data_error(format, fmt::make_format_args(args...));
}

}  // namespace adj

/// Throws adj::Error with the formatted message unless `condition` holds. The arguments are evaluated only
/// then.
#define ADJ_CHECK(condition, ...)  \
  do {                             \
    if (!(condition)) [[unlikely]] \
      ::adj::fail(__VA_ARGS__);    \
  } while (false)
