#pragma once

namespace adj::cuda {

/// The oldest compute capability that this build has code for, times ten: 80 for 8.0.
int oldest_architecture();

}  // namespace adj::cuda
