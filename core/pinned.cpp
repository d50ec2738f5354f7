#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/pinned.h>
#include <adjoint/core/runtime.h>

#include <algorithm>
#include <cstring>

namespace adj {

namespace {

constexpr size_t kPinnedPage = 4096;
constexpr int64_t kCopied = int64_t{4} << 20;  // bytes per copy chunk of a thread

}  // namespace

PinnedRows::PinnedRows(int64_t rows, int64_t cols, DType dtype, Device reader)
    : shape_{rows, cols}, dtype_(dtype), reader_(reader) {
  const size_t bytes =
      std::max(kPinnedPage, (bytes_of(shape_, dtype) + kPinnedPage - 1) / kPinnedPage * kPinnedPage);
  void* memory = runtime(reader).allocate_pinned(bytes);
  if (memory == nullptr)
    throw OutOfMemory(fmt::format("pinned rows {} {}: the host cannot pin {} MB for {}", shape_.str(),
                                  name_of(dtype), bytes >> 20, reader.str()));
  memory_ = std::shared_ptr<void>(memory, [reader](void* held) { runtime(reader).release_pinned(held); });
}

PinnedRows::PinnedRows(const Tensor& matrix, Device reader) {
  ADJ_CHECK(matrix && matrix.dims() == 2 && !matrix.is_cuda(),
            "pinned rows: {}, expected a matrix on the CPU", matrix.str());
  *this = PinnedRows(matrix.size(0), matrix.size(1), matrix.dtype(), reader);
  auto* target = static_cast<char*>(data());
  const auto* source = static_cast<const char*>(matrix.raw_data());
  parallel_for(static_cast<int64_t>(matrix.bytes()), kCopied, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace adj
