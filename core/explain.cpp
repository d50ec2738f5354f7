#include <adjoint/core/explain.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace adj {

namespace {

std::atomic<bool> enabled = false;

struct ChoiceLog {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> choices;
};
ChoiceLog& choice_log() {
  static auto* all = new ChoiceLog;
  return *all;
}

}  // namespace

void set_explaining(bool wanted) {
  const std::lock_guard lock(choice_log().mutex);
  choice_log().choices.clear();
  enabled.store(wanted, std::memory_order_relaxed);
}

bool explaining() { return enabled.load(std::memory_order_relaxed); }

// Few kernels and few structures: a list is enough.
void detail::explain(std::string subject, std::string choice) {
  const std::lock_guard lock(choice_log().mutex);
  auto& choices = choice_log().choices;
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const auto& entry) { return entry.first == subject; });
  if (found == choices.end()) {
    choices.emplace_back(std::move(subject), std::move(choice));
  } else {
    found->second = std::move(choice);
  }
}

std::vector<std::string> explanations() {
  const std::lock_guard lock(choice_log().mutex);
  std::vector<std::string> lines;
  for (const auto& [subject, choice] : choice_log().choices) lines.push_back(subject + ": " + choice);
  return lines;
}

}  // namespace adj
