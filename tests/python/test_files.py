"""Saving harms nothing that is there, and reading refuses what is no file."""
import os
import stat

import pytest

import doorbell
from doorbell import Tensor, nn

STATE = {"w": Tensor([1.0, 2.0])}


def test_links_are_followed_and_modes_kept(tmp_path):
    target, link = tmp_path / "target.safetensors", tmp_path / "link"
    nn.state.safe_save({"old": Tensor([0.0])}, target)
    target.chmod(0o640)
    link.symlink_to("target.safetensors")
    nn.state.safe_save(STATE, link)
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert nn.state.safe_load(target)["w"].tolist() == [1.0, 2.0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target.safetensors"]


def test_what_is_no_regular_file_is_left_alone(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(ValueError, match="it is a FIFO, expected a regular file"):
        nn.state.safe_save(STATE, fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    with pytest.raises(ValueError, match="write /dev/full: it is a device node, expected a regular file"):
        nn.state.safe_save(STATE, "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    with pytest.raises(IsADirectoryError, match="write .*: Is a directory"):
        nn.state.safe_save(STATE, tmp_path)
    with pytest.raises(FileNotFoundError, match="write .*/no/where: folder .*/no: No such file or directory"):
        nn.state.safe_save(STATE, tmp_path / "no" / "where")
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_a_save_that_fails_keeps_the_old_file(tmp_path):
    path = tmp_path / "weights.safetensors"
    nn.state.safe_save(STATE, path)
    with pytest.raises(doorbell.Error):
        nn.state.safe_save({"__metadata__": Tensor([1])}, path)
    assert nn.state.safe_load(path)["w"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("read", [nn.state.safe_load, nn.state.torch_load, nn.state.safe_load_metadata,
                                  nn.state.zip_extract, nn.state.tar_extract])
def test_reading_refuses_what_is_no_file(read, tmp_path):
    with pytest.raises(IsADirectoryError, match=f"read {tmp_path}: Is a directory"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        read(tmp_path / "no" / "where")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="it is a FIFO, expected a regular file"):
        read(tmp_path / "fifo")
