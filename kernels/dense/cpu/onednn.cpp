#include <adjoint/build.h>
#include <adjoint/core/error.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>

#if ADJOINT_WITH_ONEDNN

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <dnnl.hpp>
#include <sys/mman.h>

namespace adj::kernels::cpu {

class OneDnnProduct {
 public:
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, bias, c, scratch;
};

namespace {

using dnnl::memory;

// Number of cached products. oneDNN generates code for each into its own pages, one or two megabytes in all;
// compiling takes some 0.1 ms. A full-graph step has a few dozen products, sampled batches new ones each.
constexpr size_t kCapacity = 64;
// Upper bound of what compiling one allocates.
constexpr size_t kCodeBytes = size_t{4} << 20;

const dnnl::engine& engine() {
  // Never destroyed: workers may still compute while the process exits.
  static const auto* engine = [] {
    // oneDNN would cache another thousand, up to a gigabyte of the process's memory.
    dnnl::set_primitive_cache_capacity(0);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *engine;
}

/// Number of times the cache was cleared.
std::atomic<int64_t> dropped{0};

/// oneDNN 2.6 writes code without checking its allocation, so check first.
void expect_room_for_code(const TileShape& s) {
  void* room =
      mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw OutOfMemory(
        fmt::format("out of memory: the code of a product [{}, {}] times [{}, {}] finds no {} MiB", s.m, s.k,
                    s.k, s.n, kCodeBytes >> 20));
  munmap(room, kCodeBytes);
}

/// Restricts oneDNN to the calling thread while alive. oneDNN partitions a product by its number of threads,
/// differently for each, and the setting is OpenMP's per thread. It is set in the OpenMP runtime that oneDNN
/// itself is linked to.
class OneThread {
 public:
  OneThread() {
    if (runtime().get == nullptr || runtime().set == nullptr) return;
    before_ = runtime().get();
    if (before_ != 1) runtime().set(1);
  }
  ~OneThread() {
    if (before_ != 1) runtime().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Runtime {
    int (*get)() = nullptr;
    void (*set)(int) = nullptr;
  };
  static const Runtime& runtime() {
    static const Runtime found = [] {
      Runtime result;
      Dl_info onednn{};
      void* library = nullptr;
      if (dladdr(reinterpret_cast<void*>(&dnnl_version), &onednn) != 0)
        library = dlopen(onednn.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
      if (library == nullptr) library = RTLD_DEFAULT;
      result.get = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
      result.set = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
      return result;
    }();
    return found;
  }

  int before_ = 1;
};

OneDnnProduct compile(const TileShape& s) {
  constexpr auto kFloat = memory::data_type::f32;
  const auto strides = [](bool turned, int64_t stride) {
    return turned ? memory::dims{1, stride} : memory::dims{stride, 1};
  };
  const memory::desc a({s.m, s.k}, kFloat, strides(s.turned_a, s.stride_a));
  const memory::desc b({s.k, s.n}, kFloat, strides(s.turned_b, s.stride_b));
  const memory::desc c({s.m, s.n}, kFloat, strides(false, s.stride_c));
  const memory::desc bias({1, s.n}, kFloat, strides(false, s.n));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else two threads could not run one product
  const OneThread scope;
  const dnnl::matmul::primitive_desc description(
      s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c), attributes, engine());
  return {dnnl::matmul(description), a, b, bias, c, description.scratchpad_desc()};
}

/// Per-thread handles for the operands of products. Creating them takes as long as a small product.
class Operands {
 public:
  void execute(const std::shared_ptr<const OneDnnProduct>& product, const float* a, const float* b,
               const float* bias, float* c) {
    Handles& handles = handles_of(product);
    const size_t bytes = product->scratch.get_size();
    if (scratch_.size() * sizeof(Line) < bytes) scratch_.resize((bytes + sizeof(Line) - 1) / sizeof(Line));
    handles.a.set_data_handle(const_cast<float*>(a));
    handles.b.set_data_handle(const_cast<float*>(b));
    handles.c.set_data_handle(c);
    handles.scratch.set_data_handle(scratch_.data());
    if (bias != nullptr) handles.bias.set_data_handle(const_cast<float*>(bias));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, handles.a.get()},
                                         {DNNL_ARG_WEIGHTS, handles.b.get()},
                                         {DNNL_ARG_DST, handles.c.get()},
                                         {DNNL_ARG_SCRATCHPAD, handles.scratch.get()},
                                         {DNNL_ARG_BIAS, handles.bias.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(product->primitive.get(), stream_.get(), bias != nullptr ? 5 : 4, arguments),
        "could not execute");
  }

 private:
  struct Handles {
    std::shared_ptr<const OneDnnProduct> product;
    memory a, b, bias, c, scratch;
  };
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  Handles& handles_of(const std::shared_ptr<const OneDnnProduct>& product) {
    if (const int64_t now = dropped.load(std::memory_order_relaxed); now != dropped_) {
      handles_.clear();
      dropped_ = now;
    }
    if (const auto found = handles_.find(product.get()); found != handles_.end()) return found->second;
    const auto place = [](const memory::desc& description) { return memory(description, engine(), nullptr); };
    return handles_
        .emplace(product.get(), Handles{product, place(product->a), place(product->b), place(product->bias),
                                        place(product->c), place(product->scratch)})
        .first->second;
  }

  dnnl::stream stream_{engine()};
  std::map<const OneDnnProduct*, Handles> handles_;  // mostly of cached products
  int64_t dropped_ = 0;
  std::vector<Line> scratch_;
};

}  // namespace

std::shared_ptr<const OneDnnProduct> compile_onednn(const TileShape& shape) {
  static auto* compiled = new std::map<TileShape, std::shared_ptr<const OneDnnProduct>>;
  static auto* mutex = new std::mutex;
  {
    const std::lock_guard lock(*mutex);
    if (const auto found = compiled->find(shape); found != compiled->end()) return found->second;
  }
  expect_room_for_code(shape);
  try {
    auto product = std::make_shared<const OneDnnProduct>(compile(shape));
    const std::lock_guard lock(*mutex);
    if (compiled->size() >= kCapacity) {
      compiled->clear();
      dropped.fetch_add(1, std::memory_order_relaxed);
    }
    return compiled->emplace(shape, std::move(product)).first->second;
  } catch (const dnnl::error& error) {
    fail("gemm: oneDNN, [{}, {}] times [{}, {}]: {}", shape.m, shape.k, shape.k, shape.n, error.what());
  }
}

void run_onednn(const std::shared_ptr<const OneDnnProduct>& product, const float* a, const float* b,
                const float* bias, float* c) {
  thread_local Operands operands;
  try {
    const OneThread scope;
    operands.execute(product, a, b, bias, c);
  } catch (const dnnl::error& error) {
    fail("gemm: oneDNN: {}", error.what());
  }
}

}  // namespace adj::kernels::cpu

#else

namespace adj::kernels::cpu {

class OneDnnProduct {};

std::shared_ptr<const OneDnnProduct> compile_onednn(const TileShape&) { return nullptr; }

void run_onednn(const std::shared_ptr<const OneDnnProduct>&, const float*, const float*, const float*,
                float*) {
  fail("gemm: built without oneDNN");
}

}  // namespace adj::kernels::cpu

#endif
