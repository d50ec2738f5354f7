#include <adjoint/core/error.h>
#include <adjoint/core/text.h>

namespace adj {

void throw_error(fmt::string_view format, fmt::format_args args) {
  throw Error(message_line(fmt::vformat(format, args)));
}

void throw_data_error(fmt::string_view format, fmt::format_args args) {
  throw DataError(message_line(fmt::vformat(format, args)));
}

void throw_usage_error(fmt::string_view format, fmt::format_args args) {
  throw UsageError(message_line(fmt::vformat(format, args)));
}

}  // namespace adj
