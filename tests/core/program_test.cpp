#include "../support.h"
#include <adjoint/core/program.h>

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

TEST_CASE("the exit status of a program tells how its body ended") {
  const auto status = [](const std::function<void()>& body) {
    return exit_status_of([&] {
      close(STDERR_FILENO);  // other tests read the text
      return run_program("test", body);
    });
  };
  CHECK(status([] {}) == 0);
  CHECK(status([] { fail("wrong"); }) == 1);
  CHECK(status([] { throw UsageError("wrong"); }) == 2);
  CHECK(status([] { throw std::bad_alloc(); }) == 1);
  CHECK(status([] { throw Interrupted{15, "stopped"}; }) == 143);
}
