#pragma once

#include <adjoint/graph/aggregation.h>

namespace adj::test {

/// Sets the aggregation mode for the scope.
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
