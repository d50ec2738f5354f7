#pragma once

#include <adjoint/core/explain.h>
#include <adjoint/kernels/types/csr.h>

namespace adj::kernels {

/// Reports what `op` chose for this structure and `width` features of `dtype` per row, in `heads` heads; see
/// core/explain.h. Costs one atomic load when explaining is off.
template <class... Args>
void explain_sparse(std::string_view op, const Csr& a, int64_t width, int64_t heads, DType dtype,
                    fmt::format_string<Args...> format, Args&&... args) {
  if (!explaining()) return;
  explain(
      fmt::format("{} of {} x {} with {} entries, width {}{} {}, {}", op, a.rows, a.cols, a.entries(), width,
                  heads > 1 ? fmt::format(" in {} heads", heads) : "", name_of(dtype), a.device().str()),
      format, std::forward<Args>(args)...);
}

}  // namespace adj::kernels
