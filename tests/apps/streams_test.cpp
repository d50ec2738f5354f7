#include "process.h"
#include "small_dataset.h"

// Standard streams that are closed or full, and names that must be escaped on a terminal.

using namespace adj;
using namespace adj::test;

namespace {

struct Call {
  std::string program;
  Words arguments;
};

/// A short run of each program.
std::vector<Call> calls(const TemporaryDirectory& folder) {
  const std::string data = folder.file("small.h5");
  write_small_dataset(data);
  const Words train{
      "--data",           data, "--epochs", "3", "--metrics", folder.file("m.csv"), "--checkpoint",
      folder.file("c.h5")};
  return {
      {"train_gcn", train},
      {"train_gcn", {"--help"}},
      {"train_gcn", {"--version"}},
      {"generate", {"citation", folder.file("made.h5"), "--nodes", "400", "--test", "100", "--val", "50"}},
      {"generate", {"--help"}},
      {"generate", {"rmat", "--help"}},
      {"bench", {"gemm", "--data", data, "--repeats", "1", "--width", "8"}},
      {"bench", {"--help"}},
      {"predict", {"--help"}},
      {"first_gcn", {data}}};
}

/// One line without control sequences.
bool is_plain_line(const std::string& text) {
  return text.ends_with('\n') &&
         std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "programs run with closed standard streams, and do not print into other files") {
  for (const Call& call : calls(folder)) {
    CAPTURE(call.program);
    CAPTURE(call.arguments[0]);
    for (const char* how : {">&-", "2>&-", "<&-", "<&- >&- 2>&-"}) {
      CAPTURE(std::string(how));
      CHECK(run_in_shell("", how, call.program, call.arguments).status == 0);
    }
    if (call.program != "first_gcn")
      CHECK(run_in_shell("", "<&- >&- 2>&-", call.program, {"--nonsense"}).status == 2);
  }
  CHECK(lines_of(contents_of(folder.file("m.csv"))).size() == 4);
  CHECK(H5Reader::open(folder.file("c.h5")).text("", "format") == "adjoint.checkpoint");
}

TEST_CASE_FIXTURE(InFolder, "output that cannot be printed is an error") {
  for (const Call& call : calls(folder)) {
    CAPTURE(call.program);
    CAPTURE(call.arguments[0]);
    const Outcome outcome = run_in_shell("", ">/dev/full", call.program, call.arguments);
    CHECK(outcome.status == 1);
    const Words lines = lines_of(outcome.err);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.back() == call.program + ": standard output: cannot write: No space left on device");
    CHECK(run_in_shell("", "2>/dev/full", call.program, call.arguments).status == 0);
    if (call.program != "first_gcn")
      CHECK(run_in_shell("", "2>/dev/full", call.program, {"--nonsense"}).status == 2);
  }
}

TEST_CASE_FIXTURE(InFolder, "names from files and command lines are printed as text on one line") {
  const std::string path = folder.file("named.h5");
  write_small_dataset(path);
  Dataset data = load_dataset(path);
  data.name = "red\x1b[31m\n\x07\u009b\x7f";
  save_dataset(data, path);
  const Outcome outcome = succeeds(run("train_gcn", {"--data", path, "--epochs", "1", "--json"}));
  for (const std::string& line : lines_of(outcome.out + outcome.err)) CHECK(is_plain_line(line + "\n"));
  CHECK(mentions(outcome.out, {"on red\\x1b[31m\\n\\x07\\u009b\\x7f: test accuracy",
                               R"("dataset": "red\u001b[31m\u000a\u0007\u009b\u007f")"}));
  CHECK(mentions(outcome.err, {"red\\x1b[31m\\n\\x07\\u009b\\x7f: 120 nodes"}));
  const Outcome measured =
      succeeds(run("bench", {"gemm", "--data", path, "--repeats", "1", "--width", "8", "--json"}));
  for (const std::string& line : lines_of(measured.out)) CHECK(is_plain_line(line + "\n"));
  CHECK(mentions(measured.out, {R"("dataset": "red\u001b[31m\u000a)"}));

  const std::string odd = "two\nlines\x1b[2J\xff.h5";
  for (const Words& words : {Words{"--data", folder.file(odd)}, Words{"--resume", folder.file(odd)},
                             Words{"--predict", folder.file("no/" + odd)},
                             Words{"--config", folder.file(odd)}, Words{"--norm", odd},
                             Words{"--epochs", odd}, Words{odd}, Words{"--" + odd}, Words{"--device", odd}}) {
    CAPTURE(words[0]);
    const Outcome refused = run("train_gcn", joined(words, {"--quiet"}));
    CHECK(refused.status > 0);
    CHECK(refused.status <= 2);
    CHECK(is_plain_line(refused.err));
    CHECK(mentions(refused.err, {"two", "lines", "[2J", ".h5"}));
  }
  const Outcome generation = succeeds(
      run("generate", {"citation", folder.file(odd), "--nodes", "400", "--test", "100", "--val", "50"}));
  for (const std::string& line : lines_of(generation.out)) CHECK(is_plain_line(line + "\n"));
}

TEST_CASE_FIXTURE(InFolder, "exceeded system limits give one-line errors") {
  const std::string data = folder.file("small.h5");
  write_small_dataset(data);
  const Words words{"--data", data, "--epochs", "2", "--quiet"};
  CHECK(
      fails_with(run_in_shell("ulimit -s 64;", "", "train_gcn", words), 1, {"stack", "64 KB", "ulimit -s"}));
  succeeds(run("train_gcn", words, {{"OMP_NUM_THREADS", "100000"}}));
  CHECK(fails_with(run("train_gcn", words, {{"ADJOINT_NUM_THREADS", "100000"}}), 1,
                   {"ADJOINT_NUM_THREADS", "1 to 1024", "100000"}));
  for (const char* program : {"train_gcn", "bench"})
    CHECK(fails_with(run(program, {"--threads", "100000"}), 2, {"--threads", "1024", "100000"}));
}
