#include <adjoint/core/error.h>

namespace adj {

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

void throw_data_error(fmt::string_view format, fmt::format_args args) {
  throw DataError(fmt::vformat(format, args));
}

void throw_usage_error(fmt::string_view format, fmt::format_args args) {
  throw UsageError(fmt::vformat(format, args));
}

}  // namespace adj
