#include <adjoint/core/cuda/stream.h>
#include <adjoint/kernels/aggregate/cuda/spmm_choice.h>
#include <adjoint/kernels/aggregate/explain.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include <cuda_runtime_api.h>

namespace adj::kernels::cuda {

namespace {

constexpr int64_t kMeasuredBytes = 8 << 20;  // gathered; below it launch overhead dominates
constexpr int kMeasuredRounds = 3;
constexpr int kThreads[] = {128, 256, 512, 1024};
constexpr int kUsualThreads = 256;
// Structures of one size class (a loader's mini-batches) that are measured before later ones reuse the
// choice.
constexpr int kMeasuredAlike = 3;

bool fits(const SpmmShape& shape, const SpmmProblem& problem) {
  const auto bytes = static_cast<size_t>(shape.vector) * problem.element_bytes;
  if (problem.width % shape.vector != 0 || problem.alignment % bytes != 0) return false;
  if (shape.whole) return problem.width % shape.slab() == 0;
  return true;
}

/// Idle lanes in the last slab, as a share of all.
double idle_share(const SpmmShape& shape, int64_t width) {
  const int64_t slabs = (width + shape.slab() - 1) / shape.slab();
  return 1.0 - static_cast<double>(width) / static_cast<double>(slabs * shape.slab());
}

/// Bytes of a row per pass: all of it, up to 512; less if X is larger than the L2 cache, rows are gathered
/// several times, and narrower slabs of X would stay in it.
int64_t wanted_bytes(const SpmmProblem& problem, int64_t l2_bytes) {
  const int64_t row = problem.width * static_cast<int64_t>(problem.element_bytes);
  int64_t wanted = std::min<int64_t>(row, 512);
  if (problem.csr->entries() < 4 * problem.csr->cols) return wanted;
  if (problem.csr->cols * std::min<int64_t>(row, 512) <= l2_bytes) return wanted;
  while (wanted > 128 && problem.csr->cols * wanted * 2 > l2_bytes) wanted /= 2;
  return wanted;
}

int choose_by_rule(const SpmmProblem& problem, std::span<const SpmmShape> shapes, int64_t l2_bytes) {
  const double wanted = static_cast<double>(wanted_bytes(problem, l2_bytes));
  int best = -1;
  double best_cost = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!fits(shapes[i], problem)) continue;
    const double slab = static_cast<double>(shapes[i].slab() * problem.element_bytes);
    const double miss = slab > wanted ? slab / wanted : wanted / slab;
    // Wide reads first, then the wanted slab, then few idle lanes.
    const double cost = miss * (1.0 + idle_share(shapes[i], problem.width)) *
                        (1.0 + 2.0 / static_cast<double>(shapes[i].vector * problem.element_bytes));
    if (cost < best_cost) {
      best_cost = cost;
      best = static_cast<int>(i);
    }
  }
  ADJ_CHECK(best >= 0, "spmm: no kernel for width {}", problem.width);
  return best;
}

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    ADJ_CUDA_CHECK(cudaEventCreate(&begin_));
    ADJ_CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Shortest of a few runs, in ms, after a warm-up run.
  template <class F>
  float shortest(F&& f) {
    f();
    float best = std::numeric_limits<float>::infinity();
    for (int round = 0; round < kMeasuredRounds; ++round) {
      ADJ_CUDA_CHECK(cudaEventRecord(begin_, stream_));
      f();
      ADJ_CUDA_CHECK(cudaEventRecord(end_, stream_));
      ADJ_CUDA_CHECK(cudaEventSynchronize(end_));
      float time = 0.0f;
      ADJ_CUDA_CHECK(cudaEventElapsedTime(&time, begin_, end_));
      best = std::min(best, time);
    }
    return best;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Excludes shapes that take many more passes than necessary or leave more than half of the lanes idle.
bool worth_measuring(const SpmmShape& shape, const SpmmProblem& problem) {
  const int64_t slab = shape.slab() * static_cast<int64_t>(problem.element_bytes);
  const int64_t row = problem.width * static_cast<int64_t>(problem.element_bytes);
  return fits(shape, problem) && slab >= std::min<int64_t>(row, 128) &&
         idle_share(shape, problem.width) <= 0.5;
}

SpmmChoice measure(const SpmmProblem& problem, std::span<const SpmmShape> shapes, SpmmChoice choice,
                   const std::function<void(int, int)>& run) {
  Stopwatch watch(adj::cuda::current_stream(problem.csr->device().index));
  float best = watch.shortest([&] { run(choice.variant, choice.threads); });
  const auto attempt = [&](int variant, int threads) {
    const float time = watch.shortest([&] { run(variant, threads); });
    if (time >= best) return;
    best = time;
    choice = {variant, threads};
  };
  const int first = choice.variant;
  for (size_t i = 0; i < shapes.size(); ++i)
    if (static_cast<int>(i) != first && worth_measuring(shapes[i], problem))
      attempt(static_cast<int>(i), kUsualThreads);
  const int variant = choice.variant;
  for (int threads : kThreads)
    if (threads != kUsualThreads && threads <= shapes[static_cast<size_t>(variant)].max_threads)
      attempt(variant, threads);
  return choice;
}

using Key = std::tuple<int64_t, size_t, size_t, int>;  // width, element bytes, alignment, family
using AlikeKey = std::tuple<int, int, int, int, Key>;

struct Remembered {
  int calls = 0;
  bool measured = false;
  SpmmChoice choice;
};

struct RememberedChoices {
  std::mutex mutex;
  std::map<Key, Remembered> by_key;
};

struct Alike {
  int measured = 0;
  SpmmChoice choice;
};

std::mutex alike_mutex;
std::map<AlikeKey, Alike>& alike_choices() {
  static auto* map = new std::map<AlikeKey, Alike>;
  return *map;
}

/// Name of a family's op. For spmm the name used by spmm.cu, since the shape is part of the same choice.
std::string_view name_of_family(int family) {
  constexpr std::string_view kNames[] = {"spmm",
                                         "neighbor_reduce to the largest",
                                         "neighbor_reduce to the smallest",
                                         "neighbor_reduce to sums",
                                         "neighbor_reduce to several",
                                         "neighbor_minmax_backward",
                                         "neighbor_reduce to the largest by weight",
                                         "neighbor_reduce to the smallest by weight",
                                         "neighbor_minmax_backward by weight"};
  static_assert(std::size(kNames) == kWeightedWinnerItems + 1);
  return kNames[family];
}

void say(const SpmmProblem& problem, std::span<const SpmmShape> shapes, const SpmmChoice& choice,
         const char* how) {
  const SpmmShape& shape = shapes[static_cast<size_t>(choice.variant)];
  const DType dtype = problem.element_bytes == 2   ? DType::bf16
                      : problem.element_bytes == 8 ? DType::f64
                                                   : DType::f32;
  explain_sparse(name_of_family(problem.family), *problem.csr, problem.width, 1, dtype,
                 "{} lanes a row, {} x {} features each, blocks of {} threads ({})", shape.lanes,
                 shape.chunks, shape.vector, choice.threads, how);
}

int size_class(int64_t n) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(n))); }

}  // namespace

size_t alignment_of(const Tensor& x, const Tensor& y) {
  const auto bits =
      reinterpret_cast<uintptr_t>(x.raw_data()) | reinterpret_cast<uintptr_t>(y.raw_data()) | 16u;
  return size_t{1} << std::countr_zero(bits);
}

SpmmChoice choose_spmm(const SpmmProblem& problem, std::span<const SpmmShape> shapes,
                       const std::function<void(int variant, int threads)>& run) {
  const Csr& csr = *problem.csr;
  const int device = csr.device().index;
  const auto choices = csr.cache->table<RememberedChoices>();
  const std::lock_guard lock(choices->mutex);
  const Key key{problem.width, problem.element_bytes, problem.alignment, problem.family};
  Remembered& remembered = choices->by_key[key];
  if (remembered.calls == 0) {
    remembered.choice = {choose_by_rule(problem, shapes, adj::cuda::properties(device).l2_bytes),
                         kUsualThreads};
    say(problem, shapes, remembered.choice, "by rule");
  }
  ++remembered.calls;
  const int64_t bytes = csr.entries() * problem.width * static_cast<int64_t>(problem.element_bytes);
  if (remembered.measured || remembered.calls < 2 || bytes < kMeasuredBytes || !problem.measures ||
      adj::cuda::capturing(device))
    return remembered.choice;

  const std::lock_guard alike_lock(alike_mutex);
  Alike& alike =
      alike_choices()[{device, size_class(csr.rows), size_class(csr.cols), size_class(csr.entries()), key}];
  const bool anew = alike.measured < kMeasuredAlike;
  if (anew) {
    alike.choice = measure(problem, shapes, remembered.choice, run);
    ++alike.measured;
  }
  remembered.choice = alike.choice;
  remembered.measured = true;
  say(problem, shapes, remembered.choice, anew ? "the fastest measured" : "measured on structures alike");
  return remembered.choice;
}

}  // namespace adj::kernels::cuda
