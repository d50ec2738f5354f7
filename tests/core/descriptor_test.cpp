#include "../support.h"
#include <adjoint/core/detail/descriptor.h>

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

using namespace adj;
using detail::Descriptor;

namespace {

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }
int null() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

TEST_CASE("a descriptor is closed once, by its last owner") {
  const int number = null();
  {
    Descriptor one(number);
    REQUIRE(one.get() == number);
    Descriptor two(std::move(one));
    CHECK(one.get() == -1);
    Descriptor three(null());
    three = std::move(two);
    CHECK(three.get() == number);
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("moving a descriptor up frees its number") {
  const int low = null();
  {
    const Descriptor moved(low, low + 10);
    CHECK(moved.get() >= low + 10);
    CHECK((fcntl(moved.get(), F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_FALSE(is_open(low));
  }
  const int high = null();
  CHECK(high == low);  // and so is the number above
  {
    const Descriptor stays(high, high);
    CHECK(stays.get() == high);
  }
  const int stuck = null();
  errno = 0;
  const Descriptor nowhere(stuck, 1 << 30);
  CHECK(errno == EINVAL);
  CHECK(nowhere.get() < 0);
  CHECK_FALSE(is_open(stuck));
}

TEST_CASE("a failed write reports its cause") {
  const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC)), closed;
  if (full.get() < 0) {
    MESSAGE("skipped: no /dev/full");
    return;
  }
  errno = 0;
  CHECK_FALSE(detail::write_all(full.get(), "x"));
  CHECK(errno == ENOSPC);
  CHECK_FALSE(detail::write_all(closed.get(), "x"));
  CHECK(errno == EBADF);
}
