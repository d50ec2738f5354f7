#include <adjoint/core/error.h>
#include <adjoint/data/detail/hdf5_wire.h>

#include <cerrno>

#include <sys/socket.h>

namespace adj::hdf5 {

std::string_view Decoder::cut(size_t bytes) {
  if (bytes > text_.size()) throw DataError("damaged: the HDF5 library crashed on it");
  const std::string_view piece = text_.substr(0, bytes);
  text_.remove_prefix(bytes);
  return piece;
}

namespace {

/// Calls transfer(at, left), which returns the number of bytes done, until nothing is left.
template <class Byte, class Transfer>
bool transfer_all(Byte* next, size_t left, Transfer transfer) {
  while (left > 0) {
    const ssize_t done = transfer(next, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    next += done;
    left -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

bool send_all(int socket, const void* bytes, size_t count) {
  return transfer_all(static_cast<const char*>(bytes), count,
                      [=](const char* next, size_t left) { return send(socket, next, left, MSG_NOSIGNAL); });
}

bool receive_all(int socket, void* bytes, size_t count) {
  return transfer_all(static_cast<char*>(bytes), count,
                      [=](char* next, size_t left) { return recv(socket, next, left, 0); });
}

}  // namespace adj::hdf5
