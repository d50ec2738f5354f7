"""Tests of the order of work between the module and PyTorch, and CuPy where it is installed, on every GPU."""
import gc
import importlib.util
import subprocess
import sys
import threading
import unittest

import numpy as np

import adjoint

if importlib.util.find_spec("torch") is None:
    print("MESSAGE: skipped: no PyTorch beside the module")
    sys.exit()
import torch

COUNT = min(adjoint.cuda_device_count(), torch.cuda.device_count())
if COUNT == 0:
    print("MESSAGE: skipped: no GPU for both PyTorch and the module")
    sys.exit()

SLEEP = 100_000_000  # cycles: some 50 ms
NODES = 4000
RNG = np.random.default_rng(1)
X = RNG.standard_normal((NODES, 64)).astype(np.float32)
EDGES = RNG.integers(0, NODES, (2, 40_000))


def each_gpu(test):
    """Once on every GPU, with each of them as the current one, which stays so."""
    def run(self):
        for gpu in range(COUNT):
            for current in range(COUNT):
                with self.subTest(gpu=gpu, current=current):
                    torch.cuda.set_device(current)
                    test(self, gpu)
                    gc.collect()
                    self.assertEqual(torch.cuda.current_device(), current)
                    torch.cuda.synchronize(gpu)
    return run


def late(array, stream):
    """A tensor that has its values only after a long kernel on the stream."""
    tensor = torch.from_numpy(np.ascontiguousarray(array)).to(stream.device)
    copy = torch.zeros_like(tensor)
    stream.wait_stream(torch.cuda.current_stream(stream.device))
    with torch.cuda.stream(stream):
        torch.cuda._sleep(SLEEP)
        copy.copy_(tensor)
    tensor.record_stream(stream)  # or the next tensor takes its memory before it is read
    return copy


def as_numpy(array):
    return torch.from_dlpack(array).cpu().numpy()


class Reading(unittest.TestCase):
    @each_gpu
    def test_tensors_of_a_side_stream(self, gpu):
        stream = torch.cuda.Stream(gpu)
        x, edges, train = late(X, stream), late(EDGES, stream), late(np.arange(NODES) % 3 == 0, stream)
        with torch.cuda.stream(stream):
            data = adjoint.Dataset(edges, x, y=late(np.arange(NODES) % 5, stream), train=train, val=np.array([1]), test=np.array([2]))
        expected = adjoint.Dataset(EDGES, X)
        self.assertEqual(data.device, f"cuda:{gpu}")
        self.assertTrue(np.array_equal(as_numpy(data.x), X))
        self.assertTrue(np.array_equal(as_numpy(data.y), np.arange(NODES) % 5))
        self.assertTrue(np.array_equal(as_numpy(data.train), np.arange(0, NODES, 3)))
        for mine, theirs in zip(data.edge_index, expected.edge_index):
            self.assertTrue(np.array_equal(as_numpy(mine), theirs))

    @each_gpu
    def test_tensors_of_the_default_stream(self, gpu):
        data = adjoint.Dataset(EDGES, late(X, torch.cuda.default_stream(gpu)))
        self.assertTrue(np.array_equal(as_numpy(data.x), X))

    @each_gpu
    def test_other_layouts_and_types(self, gpu):
        x = torch.from_numpy(X).to(gpu)
        for tensor in (x[:, ::2], x.t().contiguous().t(), x.half(), x.double(), (x * 10).to(torch.int8), x.bfloat16()):
            data = adjoint.Dataset(EDGES, tensor)
            self.assertTrue(np.array_equal(as_numpy(data.x), tensor.float().cpu().numpy()))
        with self.assertRaisesRegex(TypeError, "x: expected an array .*(?i:grad)"):
            adjoint.Dataset(EDGES, x.clone().requires_grad_())
        with self.assertRaisesRegex(adjoint.Error, "expected numbers of float32"):
            adjoint.Dataset(EDGES, x.double() * 1e300)
        with self.assertRaisesRegex(adjoint.Error, "nodes/x: nan at row 3, column 5"):
            x[3, 5] = float("nan")
            adjoint.Dataset(EDGES, x)

    @each_gpu
    def test_memory_goes_back_to_pytorch_after_the_last_read(self, gpu):
        """PyTorch reuses a freed tensor's memory at once; our stream, made late by a reader, copies it first."""
        stream = torch.cuda.Stream(gpu)
        data = adjoint.Dataset(EDGES, torch.from_numpy(X).to(gpu))
        view = torch.from_dlpack(data.x)
        with torch.cuda.stream(stream):
            held = torch.from_dlpack(data.x)
            torch.cuda._sleep(SLEEP)
            total = held.sum(1)
        del held  # our stream waits for the sleep and the sum
        del data, view
        gc.collect()
        for _ in range(4):
            torch.full((NODES, 64), 7.0, device=f"cuda:{gpu}")
        torch.cuda.synchronize(gpu)
        self.assertTrue(np.allclose(total.cpu().numpy(), X.sum(1), atol=1e-3))


class Lending(unittest.TestCase):
    @each_gpu
    def test_a_batch_is_not_reused_while_pytorch_reads_it(self, gpu):
        """The loop of docs/python.md, in which each batch is dropped while a long kernel before its sum still runs."""
        data = adjoint.Dataset(EDGES, X)
        loader = adjoint.NeighborLoader(data, np.arange(NODES), [5], 200, seed=3, workers=2, device=f"cuda:{gpu}")
        expected = [batch.x.sum(1) for batch in adjoint.NeighborLoader(data, np.arange(NODES), [5], 200, seed=3)]
        for stream in (torch.cuda.Stream(gpu), torch.cuda.default_stream(gpu)):
            sums = []
            with torch.cuda.stream(stream):
                for batch in loader.epoch(0):
                    x = torch.from_dlpack(batch.x)
                    torch.cuda._sleep(SLEEP // 4)
                    sums.append(x.sum(1))
                    del x, batch
            torch.cuda.synchronize(gpu)
            for got, sum in zip(sums, expected, strict=True):
                self.assertTrue(np.allclose(got.cpu().numpy(), sum, atol=1e-3))

    @each_gpu
    def test_pytorch_reads_after_our_work(self, gpu):
        """Our stream is held up by a reader that has dropped its array; what it then makes is read without a wait."""
        data = adjoint.Dataset(EDGES, X).to(f"cuda:{gpu}")
        loader = adjoint.NeighborLoader(data, np.arange(NODES), [-1], NODES)
        stream = torch.cuda.Stream(gpu)
        with torch.cuda.stream(stream):
            held = torch.from_dlpack(data.x)
            torch.cuda._sleep(SLEEP)
        del held
        batch = loader.batch(0, 0)
        with torch.cuda.stream(torch.cuda.Stream(gpu)):
            x, nodes = torch.from_dlpack(batch.x).cpu(), torch.from_dlpack(batch.blocks[0].src_nodes).cpu()
        self.assertTrue(np.array_equal(x.numpy(), X[nodes.numpy()]))

    @each_gpu
    def test_an_array_dropped_by_another_thread(self, gpu):
        held = [torch.from_dlpack(adjoint.Dataset(EDGES, X).to(f"cuda:{gpu}").x)]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
        self.assertEqual(held, [])

    @each_gpu
    def test_other_frameworks(self, gpu):
        data = adjoint.Dataset(EDGES, X).to(f"cuda:{gpu}")
        if importlib.util.find_spec("cupy"):
            import cupy
            with cupy.cuda.Device(gpu), cupy.cuda.Stream(non_blocking=True):
                batch = adjoint.NeighborLoader(data, np.arange(NODES), [-1], NODES).batch(0, 0)
                x, nodes = cupy.from_dlpack(batch.x), cupy.from_dlpack(batch.blocks[0].src_nodes)
                self.assertTrue(np.array_equal(cupy.asnumpy(x), X[cupy.asnumpy(nodes)]))
                again = adjoint.Dataset(EDGES, x * 2, num_nodes=len(x))
                expected = cupy.asnumpy(x) * 2
                del x, batch
            self.assertTrue(np.array_equal(as_numpy(again.x), expected))


class Alone(unittest.TestCase):
    def test_the_current_device_of_a_process_that_uses_only_the_last_gpu(self):
        code = f"""import adjoint, numpy as np
edges = np.array([[0, 1], [1, 0]])
data = adjoint.Dataset(np.array([[0, 1], [1, 0]]), np.ones((2, 4), np.float32)).to("cuda:{COUNT - 1}")
batch = next(iter(adjoint.NeighborLoader(data, np.array([0]), [-1])))
import torch
assert torch.cuda.current_device() == 0, torch.cuda.current_device()
assert torch.from_dlpack(batch.x).sum().item() == 8
x = torch.zeros(2, 4, device="cuda:{COUNT - 1}")
with torch.cuda.device({COUNT - 1}):
    torch.cuda._sleep({SLEEP})
    x += 3
assert torch.from_dlpack(adjoint.Dataset(edges, x).x).sum().item() == 24
assert torch.cuda.current_device() == 0, torch.cuda.current_device()"""
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    unittest.main()
