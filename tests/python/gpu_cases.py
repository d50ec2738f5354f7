"""Tests of the order of work between the module and other frameworks on a GPU, with a fake one (fake_gpu.cpp), which logs what
waits for what. Run by wheel.py with the module of the fake GPU. Its stream 0 has the handle 1000."""
import ctypes
import unittest

import numpy as np

import adjoint

EDGES = np.array([[0, 1, 2, 3], [1, 0, 3, 2]])
X = np.arange(8, dtype=np.float32).reshape(4, 2)

module = ctypes.CDLL(adjoint.__file__)
module.fake_gpu_log.restype = ctypes.c_char_p
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]


def log():
    return [line for line in module.fake_gpu_log().decode().splitlines()]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Producer:
    """A framework's array on the GPU. `knows`: the arguments that its __dlpack__ takes."""

    def __init__(self, array, knows=("stream", "max_version"), error=None):
        self.array, self.knows, self.error, self.calls, self.released = array, knows, error, [], []
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: self.released.append(log()))
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
        code = {"i": 0, "u": 1, "f": 2}[array.dtype.kind]
        self.tensor = DLTensor(array.ctypes.data, 2, 0, array.ndim, code, 8 * array.itemsize, 1, shape, strides, 0, None,
                               ctypes.cast(self.deleter, ctypes.c_void_p))

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        self.calls.append(options)
        if set(options) - set(self.knows):
            raise TypeError("unexpected keyword")
        if self.error:
            raise self.error
        return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)


class Reading(unittest.TestCase):
    def setUp(self):
        log()

    def test_the_producer_orders_its_stream_before_ours(self):
        """It is asked with our stream, while the array's device is the current one; nothing waits on the host. Its default
        stream comes before ours anyway."""
        producer = Producer(X)
        data = adjoint.Dataset(EDGES, producer)
        self.assertEqual(producer.calls, [{"stream": 1000, "max_version": (1, 0)}])
        self.assertEqual(log(), ["current", "1000 after 1", "not current"])
        self.assertEqual((data.x.device, data.x.shape, data.x.dtype), ("cuda:0", (4, 2), "float32"))

    def test_a_producer_has_its_memory_back_after_our_work(self):
        producer = Producer(X)
        data = adjoint.Dataset(EDGES, producer)
        view = data.x
        log()
        del data
        self.assertEqual(producer.released, [])
        del view
        self.assertEqual(producer.released, [["synchronize"]])

    def test_old_producers(self):
        unversioned = Producer(X, knows=["stream"])
        adjoint.Dataset(EDGES, unversioned)
        self.assertEqual(unversioned.calls[1:], [{"stream": 1000}])
        self.assertNotIn("synchronize device", log() + unversioned.released[0])
        without_streams = Producer(X, knows=[])
        adjoint.Dataset(EDGES, without_streams)
        self.assertEqual(without_streams.calls[2:], [{}])
        self.assertIn("synchronize device", log() + without_streams.released[0])

    def test_a_producer_that_refuses(self):
        with self.assertRaisesRegex(TypeError, "x: .*Producer: tensors that require gradient, expected numbers"):
            adjoint.Dataset(EDGES, Producer(X, error=BufferError("tensors that require gradient")))
        with self.assertRaisesRegex(RuntimeError, "lost"):
            adjoint.Dataset(EDGES, Producer(X, error=RuntimeError("lost")))

    def test_other_layouts_and_types(self):
        for array in (np.asfortranarray(X), np.arange(64, dtype=np.float32).reshape(8, 8)[6:2:-1, 1:8:3], X.astype(np.float16),
                      X.astype(np.int8)):
            producer = Producer(array)
            data = adjoint.Dataset(EDGES, producer)
            self.assertEqual(data.x.device, "cuda:0")
            self.assertTrue(np.array_equal(data.to("cpu").x, array.astype(np.float32)))


class Lending(unittest.TestCase):
    def setUp(self):
        self.x = adjoint.Dataset(EDGES, X).to("cuda").x
        log()

    def test_the_readers_stream_waits_for_ours_and_ours_for_the_reader(self):
        for stream, ordered in {77: 77, 1: 1, None: 1}.items():
            with self.subTest(stream):
                capsule = self.x.__dlpack__(stream=stream)
                self.assertEqual(log(), [f"{ordered} after 1000"])
                del capsule  # what a reader does when it drops its tensor
                self.assertEqual(log(), [f"1000 after {ordered}"])

    def test_the_default_stream_of_a_thread_is_waited_for_on_any_thread(self):
        capsule = self.x.__dlpack__(stream=2)
        del capsule
        self.assertEqual(log(), ["2 after 1000", "1000 after 1"])

    def test_a_reader_that_orders_by_itself(self):
        capsule = self.x.__dlpack__(stream=-1)
        self.assertEqual(log(), [])
        del capsule
        self.assertEqual(log(), ["synchronize device"])

    def test_arguments(self):
        for stream in (0, -2):
            with self.assertRaisesRegex(ValueError, f"stream {stream}, expected -1, 1, 2 or a stream"):
                self.x.__dlpack__(stream=stream)
        self.assertEqual(capsule_name(self.x.__dlpack__()), b"dltensor")
        self.assertEqual(capsule_name(self.x.__dlpack__(max_version=(1, 0))), b"dltensor_versioned")
        for options in ({"copy": True}, {"dl_device": (1, 0)}):
            with self.assertRaises(BufferError):
                self.x.__dlpack__(**options)
        self.assertEqual(self.x.__dlpack_device__(), (2, 0))
        self.assertEqual(len(self.x), 4)

    def test_arrays_come_back_as_they_are(self):
        data = adjoint.Dataset(EDGES, self.x)
        self.assertEqual(log(), [])  # one library, one stream
        self.assertTrue(np.array_equal(data.to("cpu").x, X))


if __name__ == "__main__":
    unittest.main()
