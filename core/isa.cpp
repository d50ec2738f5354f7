#include <adjoint/build.h>
#include <adjoint/core/error.h>
#include <adjoint/core/isa.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/ranges.h>

using namespace std::string_view_literals;

namespace adj {

namespace {

#if ADJOINT_CPU_V4
constexpr std::array kCompiled{"avx2"sv, "avx512"sv};
bool runs(std::string_view isa) {
  return isa == "avx2" || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl"));
}
#else
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr std::array kCompiled{"avx512"sv};
#elif defined(__AVX2__)
constexpr std::array kCompiled{"avx2"sv};
#elif defined(__x86_64__)
constexpr std::array kCompiled{"sse2"sv};
#elif defined(__aarch64__)
constexpr std::array kCompiled{"neon"sv};
#else
constexpr std::array kCompiled{"generic"sv};
#endif
bool runs(std::string_view) { return true; }
#endif

std::string_view choose() {
  const char* wanted = std::getenv("ADJOINT_ISA");
  if (wanted == nullptr || *wanted == '\0') return *std::find_if(kCompiled.rbegin(), kCompiled.rend(), runs);
  const auto found = std::find(kCompiled.begin(), kCompiled.end(), wanted);
  if (found == kCompiled.end())
    usage_fail("ADJOINT_ISA: this build has CPU kernels for {}, not for '{}'", fmt::join(kCompiled, " and "),
               wanted);
  if (!runs(*found)) usage_fail("ADJOINT_ISA: this CPU has no {}", wanted);
  return *found;
}

}  // namespace

std::string_view cpu_isa() {
  static const std::string_view chosen = choose();
  return chosen;
}

std::string describe_cpu_isa() {
  return kCompiled.size() == 1 ? std::string(cpu_isa())
                               : fmt::format("{} (of {})", cpu_isa(), fmt::join(kCompiled, ", "));
}

bool detail::uses_cpu_v4() {
  static const bool chosen = kCompiled.size() > 1 && cpu_isa() == kCompiled.back();
  return chosen;
}

}  // namespace adj
