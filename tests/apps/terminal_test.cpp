#include "bench.h"

using namespace adj;
using namespace adj::test;

// What a terminal shows of programs with a progress bar.

namespace {

/// The lines of the terminal; a bar was drawn if `drawn`, and none is left.
Words lines_shown(const std::string& program, const Words& arguments, bool drawn = true) {
  const std::string output = shown_by(program, arguments);
  if (output.empty()) return {};
  CHECK((output.find("ETA ") != std::string::npos) == drawn);
  const Words lines = screen(output);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.find("ETA ") == std::string::npos);
  }
  return lines;
}

bool begins(const Words& lines, size_t from_last, const char* text) {
  return lines.empty() || (lines.size() > from_last && lines[lines.size() - 1 - from_last].starts_with(text));
}

}  // namespace

TEST_CASE("a screen shows what overwrites a bar") {
  CHECK(screen("\repoch 1\x1b[K\repoch 12\x1b[K\r\x1b[Kdone\r\nend") == Words{"done", "end"});
  CHECK(screen("\repoch 12 ETA\x1b[Kdone\r\n") == Words{"epoch 12 ETAdone"});
  CHECK(screen("a long line\rshort\n\n") == Words{"shortg line", ""});
}

TEST_CASE_FIXTURE(With<TrainingBench>, "on a terminal results begin on lines of their own") {
  const Words few{bench.data, "--epochs", "20"};
  CHECK(begins(lines_shown("train_gcn", few), 1, "GCN 40-16-3 on small: test accuracy "));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--json"})), 0, "{\"app\""));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--runs", "2"})), 1, "GCN 40-16-3 on small, 2 runs"));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--patience", "2"})), 1, "GCN 40-16-3 on small: "));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--lr", "1e30", "--eval-every", "5"})), 0,
               "train_gcn: epochs 1 to 5: "));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--explain"})), 1, "GCN 40-16-3 on small: "));
  CHECK(begins(lines_shown("train_gcn", joined(few, {"--quiet"}), false), 1, "GCN 40-16-3 on small: "));
  const Words json = lines_shown("train_gcn", joined(few, {"--quiet", "--json"}), false);
  CHECK((json.empty() || (json.size() == 1 && json[0].starts_with("{"))));
}
