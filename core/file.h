#pragma once

#include <string>
#include <string_view>

namespace adj {

/// Puts `bytes` in the place of the file `path` in one step, on disk: a kill at any moment leaves the old
/// file or the new one, whole. A symbolic link stays one: what it points to is replaced. A device or a pipe
/// (/dev/null) is written to and stays. Throws DataError naming the file where it cannot be written, or is a
/// folder.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace adj
