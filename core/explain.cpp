#include <adjoint/core/explain.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace adj {

namespace {

std::atomic<bool> on = false;

struct Said {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> choices;
};
Said& said() {
  static auto* all = new Said;
  return *all;
}

}  // namespace

void set_explaining(bool wanted) {
  const std::lock_guard lock(said().mutex);
  said().choices.clear();
  on.store(wanted, std::memory_order_relaxed);
}

bool explaining() { return on.load(std::memory_order_relaxed); }

// Few kernels and few structures: a list is enough.
void detail::explain(std::string subject, std::string choice) {
  const std::lock_guard lock(said().mutex);
  auto& choices = said().choices;
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const auto& entry) { return entry.first == subject; });
  if (found == choices.end()) {
    choices.emplace_back(std::move(subject), std::move(choice));
  } else {
    found->second = std::move(choice);
  }
}

std::vector<std::string> explanations() {
  const std::lock_guard lock(said().mutex);
  std::vector<std::string> lines;
  for (const auto& [subject, choice] : said().choices) lines.push_back(subject + ": " + choice);
  return lines;
}

}  // namespace adj
