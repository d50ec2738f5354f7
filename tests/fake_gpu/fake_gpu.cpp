// A fake GPU: a device in host memory replaces core/no_cuda/, and each test controls how far its streams
// advance, so every wait of the allocator can be observed and delayed.
#include "fake_gpu.h"

#include "../support.h"
#include <adjoint/core/capture.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/core/group.h>
#include <adjoint/core/runtime.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>
#include <adjoint/models/integer_model.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace adj;
using namespace adj::test;

namespace {

const Device kGpu = Device::cuda();
constexpr int64_t kBytes = int64_t{30} << 20;

Tensor bytes(int64_t count = kBytes) { return Tensor::empty({count}, DType::u8, kGpu); }
size_t current() { return memory_stats(kGpu).current; }

/// The edges of a graph of four nodes.
const std::vector<int32_t> kSrc{0, 1, 2, 2, 3, 0, 1}, kDst{1, 0, 1, 3, 3, 2, 2};

/// Checks that `remote`, on the device, has the bits of `local`, or that both are absent.
void check_carried(const Tensor& local, const Tensor& remote) {
  CHECK(!local == !remote);
  if (!local) return;
  CHECK(remote.device() == kGpu);
  CHECK(same_bits(remote, local));
}

struct Streams {
  Stream first, second;
};
/// The same two idle streams in every test, with no memory cached.
const Streams& streams() {
  static const Streams pair{Stream::make(kGpu), Stream::make(kGpu)};
  synchronize(kGpu);
  empty_cache(kGpu);
  return pair;
}

}  // namespace

TEST_CASE("a GPU that is too old does not hide the others") {
  for (const auto& [old, other] : {std::pair{0, 1}, {1, 0}}) {
    too_old = old;
    CHECK(Device::best() == Device::cuda(other));
    CHECK(Device::parse("cuda") == Device::cuda(other));
    CHECK(Device::parse(Device::cuda(other).str()) == Device::cuda(other));
    CHECK(cuda_device_count() == 2);
    CHECK_ERROR(require_available(Device::cuda(old)),
                fmt::format("device cuda:{} is not available: it is too old", old).c_str());
    CHECK_ERROR(require_available(Device::cuda(2)),
                "device cuda:2 is not available: this machine has 2 GPUs (cuda:0 to cuda:1)");
  }
  too_old = -1;
}

TEST_CASE("features are split over GPUs that can read each other's memory, else refused") {
  const std::vector<Device> two{Device::cuda(0), Device::cuda(1)};
  const auto split = [](const Group& group) {
    const auto store = make_split_store(Features(Tensor::zeros({2, 3}, DType::f32, group.device())), group);
    CHECK(store->rows() == 2 * group.size());
    CHECK(fake().done[0] == fake().queued[0]);  // the rows are written
    group.barrier();
  };
  fake().queued[0] += 1;
  (void)fake().take_log();
  run_ranks(two, split);
  const std::string log = fake().take_log();  // rows that others read are not freed before they are read
  CHECK(log.find("synchronize\n") != log.rfind("synchronize\n"));
  fake().peers_readable = false;
  CHECK_ERROR_HAS(run_ranks(two, split), "cannot read the memory of cuda:");
  run_ranks(std::vector(2, kGpu), split);
  fake().peers_readable = true;
  CHECK_ERROR_HAS(run_ranks(std::vector{kGpu, Device::cpu()}, split), "cannot read the memory of c");
  empty_cache(Device::cuda(1));
}

TEST_CASE("memory used only by its own stream is reused without an event") {
  const auto [first, second] = streams();
  const int marks = fake().marks;
  const void* of_default = nullptr;
  const void* of_first = nullptr;
  {
    const StreamScope scope(first);
    of_first = bytes().raw_data();
  }
  for (int again = 0; again < 2; ++again) {
    const Tensor a = bytes();
    of_default = a.raw_data();
    CHECK(of_default != of_first);
    const StreamScope scope(second);
    const Tensor b = bytes();
    CHECK(b.raw_data() != of_first);
    CHECK(b.raw_data() != of_default);
  }
  CHECK(bytes().raw_data() == of_default);
  const StreamScope scope(first);
  CHECK(bytes().raw_data() == of_first);
  CHECK(fake().marks == marks);
}

TEST_CASE("memory used by another stream is reused only after that stream's queued work") {
  const auto [first, second] = streams();
  const void* address = nullptr;
  {
    const Tensor a = bytes();
    address = a.raw_data();
    const StreamScope scope(first);
    (void)a.raw_data();
    fake().queued[1] += 5;
  }
  CHECK(fake().pending_marks == 1);
  CHECK(current() == kBytes);
  CHECK(bytes().raw_data() != address);
  fake().queued[1] += 2;  // later work does not matter
  fake().done[1] = fake().queued[1] - 3;
  CHECK(bytes().raw_data() != address);
  fake().done[1] = fake().queued[1] - 2;
  CHECK(current() == 0);
  CHECK(fake().pending_marks == 0);
  const Tensor b = bytes(), c = bytes();
  CHECK((b.raw_data() == address || c.raw_data() == address));
}

TEST_CASE("uses by several streams can be declared, and the tensor's own stream does not count") {
  const auto [first, second] = streams();
  {
    const Tensor a = bytes();
    a.use_on(first);
    a.use_on(second);
    a.use_on(Stream::default_of(kGpu));
    fake().queued[1] += 1;
    fake().queued[2] += 1;
  }
  CHECK(fake().pending_marks == 2);
  fake().done[2] = fake().queued[2];
  CHECK(current() == kBytes);
  CHECK(fake().pending_marks == 1);
  fake().done[1] = fake().queued[1];
  CHECK(current() == 0);
}

TEST_CASE("only the oldest pending event of a stream is queried") {
  const auto [first, second] = streams();
  for (int k = 0; k < 40; ++k) {
    const Tensor a = bytes(1 << 20), b = bytes(1 << 20);
    a.use_on(first);
    b.use_on(k % 2 == 0 ? first : second);
    fake().queued[1] += 1;
    fake().queued[2] += 1;
  }
  CHECK(fake().pending_marks == 80);
  int asked = fake().asked;
  CHECK(current() == size_t{80} << 20);
  CHECK(fake().asked == asked + 2);
  // The first stream has finished half of its work, and the second all.
  fake().done[1] = fake().queued[1] - 20;
  fake().done[2] = fake().queued[2];
  asked = fake().asked;
  CHECK(current() == size_t{30} << 20);
  CHECK(fake().asked == asked + 51);
  fake().done[1] = fake().queued[1];
  CHECK(current() == 0);
  CHECK(fake().pending_marks == 0);
}

TEST_CASE("when memory runs out, the allocator waits for parked memory and frees other streams' caches") {
  const auto [first, second] = streams();
  fake().most = size_t{45} << 20;
  {
    const Tensor a = bytes();
    a.use_on(first);
    fake().queued[1] += 1;
  }
  {
    const Tensor b = bytes();
    CHECK(fake().done[1] == fake().queued[1]);
  }
  {
    const StreamScope scope(second);
    const Tensor c = bytes();
    CHECK_THROWS_AS(bytes(), OutOfMemory);
  }
  fake().most = size_t{1} << 30;
  empty_cache(kGpu);
  CHECK(fake().held == 0);
}

TEST_CASE("when memory runs out, cached segments of other sizes are freed before the device is tried again") {
  (void)streams();
  fake().most = size_t{50} << 20;
  { const Tensor small = bytes(), other = bytes(kBytes / 2); }
  CHECK(fake().held >= static_cast<size_t>(kBytes));
  const Tensor larger = bytes(kBytes + (int64_t{12} << 20));
  CHECK(current() == static_cast<size_t>(kBytes) + (size_t{12} << 20));
  // Memory in use cannot be freed.
  CHECK_THROWS_AS(bytes(), OutOfMemory);
  fake().most = size_t{1} << 30;
}

TEST_CASE("memory held by a capture waits for its replay stream after the capture is destroyed") {
  const auto [first, second] = streams();
  std::shared_ptr<MemoryPool> pool;
  Tensor a = bytes();
  {
    const StreamScope scope(second);
    pool = make_memory_pool(kGpu);
    const MemoryPoolScope in(pool);
    a = Tensor();
  }
  CHECK(fake().pending_marks == 0);
  fake().queued[2] += 1;
  pool.reset();
  CHECK(fake().pending_marks == 1);
  CHECK(current() == kBytes);
  fake().done[2] = fake().queued[2];
  CHECK(current() == 0);
}

TEST_CASE("a pool lives until all streams are done with its memory") {
  const auto [first, second] = streams();
  auto pool = make_memory_pool(kGpu);
  {
    const MemoryPoolScope in(pool);
    const Tensor a = bytes();
    a.use_on(first);
    fake().queued[1] += 1;
  }
  pool.reset();
  CHECK(fake().held >= kBytes);
  fake().done[1] = fake().queued[1];
  empty_cache(kGpu);
  CHECK(fake().held == 0);
}

TEST_CASE("lazily made objects are complete before another stream can read them") {
  (void)streams();
  fake().queued[0] += 1;
  { const OutsideCapture of_the_host; }  // on a device of other ranks, say: it does not wait there
  CHECK(fake().done[0] < fake().queued[0]);
  {
    const OutsideCapture outer;
    const OutsideCapture outside;
    (void)bytes().raw_data();
  }
  CHECK(fake().done[0] == fake().queued[0]);
  fake().queued[0] += 1;
  {
    const OutsideCapture outer;
    {
      const OutsideCapture inner;
      (void)bytes().raw_data();
    }
    fake().queued[0] += 1;
  }
  CHECK(fake().done[0] == fake().queued[0]);
}

TEST_CASE("in a capture, lazily made objects do not belong to the step, and waits are refused") {
  const auto [first, second] = streams();
  detail::Recorder recorder(kGpu, nullptr, nullptr);
  auto pool = make_memory_pool(kGpu);
  Tensor result;
  {
    const detail::RecorderScope recording(&recorder);
    const MemoryPoolScope in(pool);
    const void* of_the_step = bytes().raw_data();
    {
      const OutsideCapture outside;
      result = bytes();
      CHECK(result.raw_data() != of_the_step);
    }
    CHECK(bytes().raw_data() == of_the_step);
    CHECK_THROWS_AS(StreamScope{first}, Error);
    CHECK_THROWS_AS(first.wait(second), Error);
    CHECK_THROWS_AS(first.synchronize(), Error);
    CHECK_THROWS_AS(detail::refuse_cpu_in_capture("test"), Error);
    const StreamScope the_same(Stream::default_of(kGpu));
  }
  const size_t with_pool = fake().held;
  pool.reset();
  CHECK(fake().held < with_pool);
  result = Tensor();
  CHECK(current() == 0);
}

TEST_CASE("structures derived during a capture are complete and do not belong to the step") {
  (void)streams();
  const Graph made_before = Graph::from_coo(4, Tensor::from(kSrc), Tensor::from(kDst));
  const Graph graph = made_before.to(kGpu);
  detail::Recorder recorder(kGpu, nullptr, nullptr);
  auto pool = make_memory_pool(kGpu);
  {
    const detail::RecorderScope recording(&recorder);
    const MemoryPoolScope in(pool);
    fake().queued[0] += 1;
    (void)graph.in_degrees();
    CHECK(fake().done[0] == fake().queued[0]);
    (void)graph.out_degrees();
    (void)graph.mean_adjacency();
    (void)graph.gcn_adjacency();
    (void)graph.gcn_adjacency().adjoint();
    CHECK(capturing(kGpu));
  }
  // Nothing keeps the pool alive: it has no tensor of the graph.
  const std::weak_ptr<MemoryPool> gone = pool;
  pool.reset();
  CHECK(gone.expired());
  check_carried(made_before.in_degrees(), graph.in_degrees());
  check_carried(made_before.gcn_adjacency().to_dense(), graph.gcn_adjacency().to_dense());
}

TEST_CASE("a Carrier uses few copies, and copies each tensor once") {
  (void)streams();
  const Tensor small = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 5, 6}),
               other = Tensor::from(std::vector<double>{0.5, -1.0}), large = Tensor::full({200000}, 2.0),
               none = Tensor::empty({0}, DType::i64);
  detail::Carrier carrier(kGpu);
  int copies = fake().copies;
  Tensor a = carrier.carry(small), b = carrier.carry(other);
  const Tensor matrix = carrier.carry(small.reshape({2, 3})), again = carrier.carry(small);
  CHECK(!carrier.carry(Tensor()));
  CHECK(carrier.carry(a).raw_data() == a.raw_data());
  CHECK(carrier.carry(none).shape() == Shape{0});
  CHECK(fake().copies == copies);
  const Tensor c = carrier.carry(large);
  CHECK(fake().copies == copies + 1);
  carrier.finish();
  CHECK(fake().copies == copies + 2);
  carrier.finish();
  CHECK(fake().copies == copies + 2);
  check_carried(small, a);
  CHECK(matrix.str() == "[2, 3] int32 on cuda:0");
  CHECK(matrix.raw_data() == a.raw_data());
  CHECK(again.raw_data() == a.raw_data());
  check_carried(other, b);
  check_carried(large, c);
  // Separate versions, shared memory.
  CHECK(a.storage_id() != b.storage_id());
  const uint64_t version = b.version();
  a.zero_();
  CHECK(b.version() == version);
  check_carried(other, b);
  const size_t held = current();
  a = {};
  CHECK(current() == held);

  copies = fake().copies;
  detail::Carrier many(kGpu);
  std::vector<Tensor> sources, carried;
  for (int i = 0; i < 300; ++i) sources.push_back(Tensor::full({5000 + i}, i));
  for (const Tensor& source : sources) carried.push_back(many.carry(source));
  many.finish();
  CHECK(fake().copies <= copies + 9);
  for (size_t i = 0; i < sources.size(); ++i) check_carried(sources[i], carried[i]);
}

TEST_CASE("carved memory is reused only after the streams of all its parts") {
  const auto [first, second] = streams();
  Tensor whole = bytes(1 << 20);
  Tensor part = whole.carve(1 << 10, {256}, DType::f32), part_of_it = part.carve(512, {4}, DType::i64);
  CHECK(static_cast<const char*>(part_of_it.raw_data()) ==
        static_cast<const char*>(whole.raw_data()) + (1 << 10) + 512);
  part_of_it.use_on(first);
  fake().queued[1] += 1;
  whole = {};
  part = {};
  CHECK(current() == size_t{1} << 20);
  part_of_it = {};
  CHECK(current() == size_t{1} << 20);
  fake().done[1] = fake().queued[1];
  CHECK(current() == 0);
}

TEST_CASE("a copied graph keeps its derived structures") {
  (void)streams();
  const Tensor weight = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7});
  for (const Graph& graph :
       {Graph::from_coo(4, Tensor::from(kSrc), Tensor::from(kDst), weight, {{"kind", weight}}),
        Graph(Relation::from_coo(4, 4, Tensor::from(kSrc), Tensor::from(kDst)), weight)}) {
    const auto derived = [](const Graph& input) {
      (void)input.is_symmetric();
      const LoopedRelation renewed = with_self_loops(input.relation(), SelfLoops::renewed),
                           removed = with_self_loops(input.relation(), SelfLoops::removed);
      return std::vector<Tensor>{input.in_degrees(),
                                 input.out_degrees(),
                                 input.adjacency().adjoint().csr.indices,
                                 input.mean_adjacency().adjoint().values,
                                 input.gcn_adjacency().adjoint().values,
                                 input.gcn_adjacency(2.0f).adjoint().values,
                                 input.gcn_adjacency(2.0f).values(),
                                 input.edge_index().src,
                                 input.edge_index().dst,
                                 input.in_edges().offsets,
                                 input.out_edges().indices,
                                 input.relation().transposed_order(),
                                 input.edge_weight(),
                                 input.input_order(),
                                 renewed.origin,
                                 renewed.became,
                                 renewed.relation.csr().indices,
                                 renewed.relation.transposed_order(),
                                 removed.relation.csr().indices};
    };
    const std::vector<Tensor> local = derived(graph);
    const int copies = fake().copies;
    const Graph carried = graph.to(kGpu);
    CHECK(fake().copies == copies + 1);
    CHECK(carried.device() == kGpu);
    {
      // Lazily made objects wait for the device during a capture.
      detail::Recorder recorder(kGpu, nullptr, nullptr);
      const detail::RecorderScope recording(&recorder);
      fake().queued[0] += 1;
      const int done = fake().done[0];
      (void)derived(carried);
      CHECK(fake().done[0] == done);
      (void)carried.gcn_adjacency(3.0f);
      CHECK(fake().done[0] > done);
    }
    const std::vector<Tensor> remote = derived(carried);
    for (size_t i = 0; i < local.size(); ++i) check_carried(local[i], remote[i]);
    check_carried(graph.gcn_adjacency().to_dense(), carried.gcn_adjacency().to_dense());
    const LoopedRelation looped = with_self_loops(carried.relation(), SelfLoops::renewed);
    CHECK(looped.loops == 4);
    CHECK(looped.complete == with_self_loops(graph.relation(), SelfLoops::renewed).complete);
    // The copies share one structure, too, with the kernels' cached data.
    CHECK((graph.adjacency().matrix().csr.cache == graph.relation().sorted().csr().cache) ==
          (carried.adjacency().matrix().csr.cache == carried.relation().sorted().csr().cache));
    CHECK(carried.edge_attributes().size() == graph.edge_attributes().size());
    // And with the plan for products.
    const int64_t size = kernels::spmm_item_size(graph.out_edges(), 1);
    const auto plan = carried.out_edges().cache->find<kernels::SpmmPlan>(size);
    REQUIRE(plan);
    const kernels::SpmmPlan expected = kernels::host_spmm_plan(graph.out_edges(), size);
    CHECK(plan->items == expected.items);
    check_carried(expected.starts, plan->starts);
    check_carried(expected.heavy, plan->heavy);
    check_carried(expected.totals, plan->totals);
    // A CPU needs no copy.
    CHECK(&graph.to(Device::cpu()).gcn_adjacency() == &graph.gcn_adjacency());
  }
  CHECK(!Graph().to(kGpu));
}

TEST_CASE("a batch is copied to a device in one transfer, with the transposes of its blocks") {
  (void)streams();
  const Graph graph = Graph::from_coo(4, Tensor::from(kSrc), Tensor::from(kDst));
  const Tensor ids = Tensor::from(std::vector<int32_t>{2, 0}), y = Tensor::full({2}, 1.0);
  const std::vector<Block> blocks = NeighborSampler(graph, {.fanouts = {2, 2}}).sample(ids, 1);
  for (const Block& block : blocks) (void)block.relation().transposed();
  (void)graph.out_edges();
  NeighborBatch neighbors;
  neighbors.blocks = blocks;
  neighbors.y = y;
  neighbors.seeds = ids;
  LinkBatch links;
  links.blocks = blocks;
  links.nodes = ids;
  links.pairs = {ids, ids};
  links.label = y;
  links.positives = 1;
  GraphBatch graphs;
  graphs.graph = graph;
  graphs.offsets = Tensor::from(std::vector<int64_t>{0, 4});
  graphs.y = y;
  graphs.graphs = ids;
  const auto in_one_copy = [](const auto& batch) {
    const int copies = fake().copies;
    const auto remote = batch.to(kGpu);
    CHECK(fake().copies == copies + 1);
    return remote;
  };
  const auto transposes = [&](const std::vector<Block>& remote) {
    REQUIRE(remote.size() == blocks.size());
    const int done = fake().copies;
    for (size_t l = 0; l < blocks.size(); ++l) {
      check_carried(blocks[l].relation().transposed().indices, remote[l].relation().transposed().indices);
      check_carried(blocks[l].src_nodes(), remote[l].src_nodes());
    }
    CHECK(fake().copies == done);
  };
  const NeighborBatch a = in_one_copy(neighbors);
  transposes(a.blocks);
  check_carried(ids, a.seeds);
  check_carried(y, a.y);
  const LinkBatch b = in_one_copy(links);
  transposes(b.blocks);
  check_carried(ids, b.pairs.dst);
  check_carried(y, b.label);
  CHECK(b.positives == 1);
  const GraphBatch c = in_one_copy(graphs);
  check_carried(graph.out_edges().indices, c.graph.out_edges().indices);
  check_carried(graphs.offsets, c.offsets);
  check_carried(ids, c.graphs);
}

TEST_CASE("threads on their own streams allocate, share and free tensors") {
  const auto [first, second] = streams();
  const int before = fake().marks;
  in_threads(4, [&, first = first, second = second](int t) {
    const StreamScope scope(t % 2 == 0 ? first : second);
    std::vector<Tensor> live;
    for (int i = 0; i < 5000; ++i) {
      live.push_back(bytes(1 + (i * 7919 + t) % 3000000));
      if (i % 3 == 0) live.back().use_on(t % 2 == 0 ? second : first);
      if (live.size() > 20) live.erase(live.begin() + i % 20);
    }
  });
  CHECK(fake().marks > before);
  synchronize(kGpu);
  empty_cache(kGpu);
  CHECK(current() == 0);
  CHECK(fake().held == 0);
  CHECK(fake().pending_marks == 0);
}

TEST_CASE("a host-packed batch of an integer model is copied to a device in one transfer") {
  (void)streams();
  constexpr int64_t kNodes = 200, kIn = 50, kOut = 3;
  std::vector<int32_t> src, dst;
  for (int32_t i = 0; i < 5 * kNodes; ++i) {
    src.push_back(i * 7 % kNodes);
    dst.push_back((i * 13 + i / 9) % kNodes);
  }
  const Graph graph = Graph::from_coo(kNodes, Tensor::from(src), Tensor::from(dst));
  std::vector<float> x;
  for (int64_t i = 0; i < kNodes * kIn; ++i) x.push_back(static_cast<float>(i * i % 31) - 9.0f);
  const Features features(Tensor::from(x, {kNodes, kIn}));
  TrainedModel::Parts parts;
  parts.family = models::qgnn();
  parts.options.quantized.bits = "4,8";
  parts.options.dropout = 0.0;
  parts.task = Task::node_class;
  parts.num_features = kIn;
  parts.num_outputs = kOut;
  parts.model = parts.family.make(kIn, kOut, parts.options);
  (void)dynamic_cast<models::NodeModel&> (*parts.model)(graph, features);
  const TrainedModel trained(std::move(parts));
  for (const IntegerSums sums : {IntegerSums::bytes, IntegerSums::bits}) {
    const IntegerModel local(trained, {.sums = sums});
    const IntegerBatch packed = local.pack(graph, features);
    const auto expected = local(packed).to_vector<float>();
    trained.model().to(kGpu);
    const IntegerModel remote(trained, {.sums = sums});
    CHECK_THROWS_WITH_AS(remote(packed), doctest::Contains("a batch on cpu, expected it on cuda:0"), Error);
    const int copies = fake().copies;
    const IntegerBatch batch = packed.to(kGpu);
    CHECK(fake().copies == copies + 1);
    CHECK(remote(batch).to_vector<float>() == expected);
    trained.model().to(Device::cpu());
  }
}
