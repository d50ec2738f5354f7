#include <adjoint/core/error.h>

#include <utility>

namespace adj {

void throw_error(std::string message) { throw Error(std::move(message)); }
void throw_data_error(std::string message) { throw DataError(std::move(message)); }

}  // namespace adj
