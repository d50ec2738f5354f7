#include <adjoint/core/version.h>

namespace adj {

std::string_view version() { return ADJOINT_VERSION; }

}  // namespace adj
