#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/rank_scope.h>

#include <utility>

namespace adj {

namespace {
thread_local const RankRows* innermost = nullptr;
}  // namespace

RankScope::RankScope(RankRows rows) : rows_(std::move(rows)), outer_(innermost) {
  innermost = rows_.group.size() > 1 ? &rows_ : nullptr;
}
RankScope::RankScope(Group group)
    : RankScope(RankRows{.group = std::move(group), .cut = RowCut({0, 0}), .of_batches = true}) {}
RankScope::~RankScope() { innermost = outer_; }
const RankRows* RankScope::current() { return innermost; }
void RankScope::refuse(const char* what) {
  ADJ_CHECK(innermost == nullptr, "{}: not over the rows of several ranks, expected one rank", what);
}

}  // namespace adj
