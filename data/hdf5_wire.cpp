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

bool send_all(int socket, const void* bytes, size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = send(socket, from, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* bytes, size_t count) {
  char* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = recv(socket, to, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace adj::hdf5
