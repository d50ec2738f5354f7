#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/rank_scope.h>

#include <utility>

namespace adj {

namespace {
thread_local const RankScope* scope = nullptr;
}  // namespace

RankScope::RankScope(RankRows rows) : rows_(std::move(rows)), outer_(scope) { scope = this; }
RankScope::RankScope(Group group)
    : RankScope(RankRows{.group = std::move(group), .cut = RowCut({0, 0}), .of_batches = true}) {}
RankScope::~RankScope() { scope = outer_; }
const RankRows* RankScope::innermost() { return scope != nullptr ? &scope->rows_ : nullptr; }
const RankRows* RankScope::current() {
  const RankRows* rows = innermost();
  return rows != nullptr && rows->group.size() > 1 ? rows : nullptr;
}
const RankRows* RankScope::by_parts() {
  const RankRows* rows = innermost();
  return rows != nullptr && rows->by_parts ? rows : nullptr;
}
KeyedCache& RankScope::cache() {
  ADJ_CHECK(scope != nullptr, "rows of a rank: expected a RankScope of the thread");
  return scope->cache_;
}
void RankScope::refuse(const char* what) {
  ADJ_CHECK(current() == nullptr, "{}: not over the rows of several ranks, expected one rank", what);
}

}  // namespace adj
