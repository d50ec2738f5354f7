#pragma once

#include "subject.h"

namespace adj::apps {

struct Measurement {
  double ms = 0.0;        ///< median
  double min_ms = 0.0;    ///< fastest
  double copy_gbs = 0.0;  ///< of copies that alternate with it: bytes read and written per second, median
  double peak_mb = 0.0;   ///< highest memory held in tensors while it was prepared and run
};

/// Prepares and times an op: five calls to warm up, then `repeats` rounds of the op and a copy of as many
/// bytes (256 MB at least, so that it does not sit in a cache; 4 GB at most). Short ops run several times to
/// a round.
Measurement measure(const Op& op, const Subject& subject, int64_t repeats, Job& job);

}  // namespace adj::apps
