#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace adj::fuzz {

[[noreturn]] inline void give_up(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

/// An error message must be one line of text, not too long.
inline void require_line(const std::string& message) {
  for (unsigned char c : message)
    if (c < 0x20 || c == 0x7f) give_up("not one line of text: " + message);
  if (message.size() > 2000) give_up("a long message: " + message);
}

/// The command line [RUNS | SECONDSs [SEED]], and a folder, which is kept on failure.
struct Run {
  bool timed;
  double limit;
  uint64_t seed;
  std::filesystem::path folder;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  Run(int argc, char** argv) {
    const std::string length = argc > 1 ? argv[1] : "4000";
    timed = length.ends_with('s');
    limit = std::atof(length.c_str());
    seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::string pattern = (std::filesystem::temp_directory_path() / "adjoint-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) give_up("no folder for files");
    folder = pattern;
  }
  ~Run() { std::filesystem::remove_all(folder); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  bool goes_on(long runs) const { return timed ? seconds() < limit : static_cast<double>(runs) < limit; }
};

}  // namespace adj::fuzz
