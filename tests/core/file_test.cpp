#include "../support.h"
#include <adjoint/core/file.h>

#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

}  // namespace

TEST_CASE("a file is replaced whole, a link to it stays one, and nothing is left beside it") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.txt"), link = folder.file("link.txt");
  replace_file(path, "first");
  CHECK(contents_of(path) == "first");
  std::filesystem::create_symlink("a.txt", link);
  const std::string bytes("zero \0 and\nlines", 16);
  replace_file(link, bytes);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(contents_of(path) == bytes);
  const std::filesystem::directory_iterator entries(std::filesystem::path(path).parent_path());
  CHECK(std::distance(begin(entries), end(entries)) == 2);
}

TEST_CASE("devices and pipes are written to and stay") {
  const TemporaryDirectory folder;
  replace_file("/dev/null", "gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const std::string link = folder.file("null"), pipe = folder.file("pipe");
  std::filesystem::create_symlink("/dev/null", link);
  replace_file(link, "gone");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_character_file("/dev/null"));

  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  replace_file(pipe, "through");
  char buffer[16];
  CHECK(std::string(buffer, static_cast<size_t>(read(reader, buffer, sizeof buffer))) == "through");
  close(reader);
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(message_of([] { replace_file("/dev/full", "x"); }).find("/dev/full: cannot write: No space") == 0);
}

TEST_CASE("what cannot be written is refused by name") {
  const TemporaryDirectory folder;
  const std::string nowhere = folder.file("no/such/file"), here = folder.file("");
  CHECK(message_of([&] { replace_file(nowhere, "x"); }).find(nowhere) == 0);
  CHECK(message_of([&] { replace_file(here, "x"); }).find("a folder") != std::string::npos);
}
