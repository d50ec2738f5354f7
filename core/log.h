#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/core.h>

namespace adj {

class Tensor;

/// Importance of a message, ascending.
enum class LogLevel : uint8_t { debug, info, warning, error };

/// Messages below this level are dropped; default `info`.
LogLevel log_level();
void set_log_level(LogLevel level);  ///< for all threads

/// While it is alive, this thread writes no messages and no progress: of ranks that say the same, one speaks.
class MuteThread {
 public:
  MuteThread();
  ~MuteThread();
  MuteThread(const MuteThread&) = delete;
  MuteThread& operator=(const MuteThread&) = delete;
};

/// Writes one line to stderr; warnings and errors are prefixed with their level. Lines of several threads do
/// not mix, and a progress bar is cleared first.
void log_line(LogLevel level, std::string_view text);

/// log_line() of a formatted message; formats nothing if the message is dropped.
template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
/// log_at() with LogLevel::debug, which is dropped by default.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::debug, format, std::forward<Args>(args)...);
}
/// log_at() with LogLevel::info.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::info, format, std::forward<Args>(args)...);
}
/// log_at() with LogLevel::warning.
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::warning, format, std::forward<Args>(args)...);
}

/// Per-epoch log of a training loop: shown next to the progress of the enclosing loop (`for (int64_t epoch :
/// progress(200)) log(epoch, step());`), else as a separate line. The loss is read from its device only when
/// shown.
void log(int64_t epoch, const Tensor& loss);

}  // namespace adj
