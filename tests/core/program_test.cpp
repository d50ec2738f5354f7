#include "../support.h"
#include <adjoint/core/program.h>

#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("a program has three standard streams, even if started without some of them") {
  for (int closed = 0; closed < 8; ++closed) {
    CAPTURE(closed);
    CHECK(exit_status_of([closed] {
            for (int stream = 0; stream < 3; ++stream)
              if ((closed >> stream & 1) != 0) close(stream);
            bool whole = false;
            const int status = run_program("test", [&] {
              whole = open("/dev/null", O_RDONLY | O_CLOEXEC) > 2;
              for (int stream = 0; stream < 3; ++stream) whole = whole && fcntl(stream, F_GETFD) >= 0;
            });
            return whole ? status : 99;
          }) == 0);
  }
}

TEST_CASE_FIXTURE(InFolder, "a program's exit status and its line on stderr tell how its body ended") {
  const std::string errors = folder.file("stderr");
  const auto ending = [&](const std::function<void()>& body) {
    const int status = exit_status_of([&] {
      const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      return dup2(file, STDERR_FILENO) == STDERR_FILENO ? run_program("test", body) : 99;
    });
    return fmt::format("{} {}", status, contents_of(errors));
  };
  const auto no_file = std::make_error_code(std::errc::no_such_file_or_directory);
  CHECK(ending([] {}) == "0 ");
  CHECK(ending([] { fail("wrong"); }) == "1 test: wrong\n");
  CHECK(ending([] { throw UsageError("wrong"); }) == "2 test: wrong (see --help)\n");
  CHECK(ending([] { throw std::bad_alloc(); }) == "1 test: out of memory\n");
  CHECK(ending([] { throw Interrupted{15, "stopped"}; }) == "143 test: stopped\n");
  CHECK(ending([&] { throw std::filesystem::filesystem_error("copy", "a.h5", no_file); }) ==
        "1 test: a.h5: No such file or directory\n");
  CHECK(ending([&] { throw std::filesystem::filesystem_error("copy", no_file); }) ==
        "1 test: No such file or directory\n");
  CHECK(ending([] {
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "thread");
        }) == "1 test: thread: Resource temporarily unavailable\n");
}
