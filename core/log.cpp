#include <adjoint/core/log.h>
#include <adjoint/core/progress.h>
#include <adjoint/core/tensor.h>
#include <adjoint/core/text.h>

#include <atomic>
#include <cstdio>
#include <mutex>

namespace adj {

namespace {
std::atomic<LogLevel> threshold{LogLevel::info};
thread_local int muted = 0;  // scopes
}  // namespace

MuteThread::MuteThread() { ++muted; }
MuteThread::~MuteThread() { --muted; }

LogLevel log_level() { return muted > 0 ? LogLevel::error : threshold.load(std::memory_order_relaxed); }
void set_log_level(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view text) {
  if (level < log_level()) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (Progress* bar = Progress::current()) bar->hide();
  const std::string_view front = level == LogLevel::error     ? "error: "
                                 : level == LogLevel::warning ? "warning: "
                                                              : "";
  const std::string line = fmt::format("{}{}\n", front, message_line(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void log(int64_t epoch, const Tensor& loss) {
  Progress* bar = Progress::current();
  if (bar == nullptr) {
    if (log_level() <= LogLevel::info) log_info("epoch {}: loss {:.4f}", epoch, loss.item());
  } else if (bar->due()) {
    bar->note(fmt::format("loss {:.4f}", loss.item()));
  }
}

}  // namespace adj
