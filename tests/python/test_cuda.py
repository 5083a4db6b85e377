"""Tensors on CUDA devices as arrays of other libraries, on the emulated driver: in a process of its own, because DEV
chooses it. Other libraries are played by objects that pass on what a tensor gives; the tests that the bytes are right
read them back."""

import os
import subprocess
import sys
import textwrap

import pytest


def run(code):
    environment = {**os.environ, "DEV": "CPU;EMUCUDA+CUDA", "EMU_GPU": "sm_90,sm_90"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if "is built without the emulator" in result.stderr:
        pytest.skip("built without the emulator")
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_dlpack_names_the_gpu_and_copies_nothing():
    run("""
        from doorbell import Tensor
        for ordinal, name in ((0, "CUDA"), (1, "CUDA:1")):
            x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).to(name).realize()
            assert x.__dlpack_device__() == (2, ordinal), x.__dlpack_device__()

            class Foreign:
                asked = []
                def __dlpack__(self, **options):
                    self.asked.append(options.get("stream"))
                    return x.__dlpack__(**options)
                def __dlpack_device__(self):
                    return x.__dlpack_device__()

            y = Tensor.from_dlpack(Foreign())
            assert y.device == name, y.device
            assert y.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
            assert y.__cuda_array_interface__["data"] == x.__cuda_array_interface__["data"]
            for stream in (None, 1, 2, -1):
                x.__dlpack__(stream=stream)
    """)


def test_cuda_array_interface_goes_both_ways():
    run("""
        from doorbell import Tensor
        x = Tensor([1, 2, 3, 4]).to("CUDA").realize()
        given = x.__cuda_array_interface__
        assert given["shape"] == (4,) and given["typestr"] == "<i4" and given["version"] == 3, given
        assert given["strides"] is None and given["data"][1] is False and given["stream"] > 2, given

        class Foreign:
            def __init__(self, **changes):
                self.__cuda_array_interface__ = {**given, **changes}

        assert Tensor.from_dlpack(Foreign()).tolist() == [1, 2, 3, 4]
        assert Tensor.from_dlpack(Foreign(stream=None)).tolist() == [1, 2, 3, 4]
        assert Tensor.from_dlpack(Foreign(strides=(4,), stream=1)).device == "CUDA"
        assert Tensor.from_dlpack(Foreign(shape=(2, 2), strides=(8, 4))).tolist() == [[1, 2], [3, 4]]
        for changes, message in (({"strides": (8,)}, "strides"), ({"typestr": "<c8"}, "<c8"),
                                 ({"data": (4096, False)}, "no device here has memory at 0x1000"),
                                 ({"mask": object()}, "mask")):
            try:
                Tensor.from_dlpack(Foreign(**changes))
            except Exception as error:
                assert message in str(error), error
            else:
                raise AssertionError(changes)
        # Gone before its last user.
        y = Tensor.from_dlpack(Foreign())
        del x
        assert y.tolist() == [1, 2, 3, 4]
    """)


def test_memory_that_is_not_aligned_to_vectors():
    """Kernels access 16 bytes at once; memory of others may begin at any element. Replayed too, from aligned to not."""
    run("""
        from doorbell import Tensor, jit
        x = Tensor.arange(1028).to("CUDA").realize()
        given = x.__cuda_array_interface__

        class Foreign:
            def __init__(self, skip):
                data = (given["data"][0] + 4 * skip, False)
                self.__cuda_array_interface__ = {**given, "shape": (1024,), "data": data}

        add = jit(lambda a: ((a + 1).realize() * 2).realize())
        for skip in (0, 0, 0, 0, 1, 4, 2, 0, 3):
            y = Tensor.from_dlpack(Foreign(skip))
            assert (y + 1).tolist() == list(range(skip + 1, skip + 1025)), skip
            assert add(y).tolist() == [2 * (i + skip + 1) for i in range(1024)], skip
    """)


def test_memory_that_is_not_given_away():
    run("""
        from doorbell import Tensor
        assert not hasattr(Tensor([1.0]), "__cuda_array_interface__")
        assert Tensor([1.0]).__dlpack_device__() == (1, 0)
        x = Tensor([1.0, 2.0]).to("CUDA").realize()
        # The host gets a copy.
        assert x.numpy().tolist() == [1.0, 2.0]
        x = Tensor([1.0, 2.0], requires_grad=True).to("CUDA")
        assert not hasattr(x, "__cuda_array_interface__")
        try:
            x.__dlpack__()
        except TypeError as error:
            assert "detach it" in str(error), error
        else:
            raise AssertionError("memory was given away")
    """)
