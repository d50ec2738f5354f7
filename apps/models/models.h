#pragma once

#include "../common.h"

namespace adj::apps {

// One file a program: the model as a class, its options, and the defaults of the paper that introduced it.
Program train_gcn();
Program train_gin();

/// All of them, for `predict`.
inline std::vector<Program> all_programs() { return {train_gcn(), train_gin()}; }

}  // namespace adj::apps
