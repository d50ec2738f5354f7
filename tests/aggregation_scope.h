#pragma once

#include <adjoint/graph/aggregation.h>

namespace adj::test {

/// Sets the way that neighbours are summed; sets it back at the end of the scope.
class AggregationScope {
 public:
  explicit AggregationScope(Aggregation way) : before_(aggregation()) { set_aggregation(way); }
  ~AggregationScope() { set_aggregation(before_); }
  AggregationScope(const AggregationScope&) = delete;
  AggregationScope& operator=(const AggregationScope&) = delete;

 private:
  Aggregation before_;
};

}  // namespace adj::test
