#pragma once

#include <string_view>

namespace adj {

/// Version of the library that is linked, as "0.1.0".
std::string_view version();

}  // namespace adj
