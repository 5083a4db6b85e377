"""Errors as Python's own exception types; each is a doorbell.Error too, with the kind and the device."""
import errno


class Error(Exception):
    """Any error of Doorbell. `kind` is the library's name for its kind, `device` the device concerned or ""."""

    kind = ""
    device = ""


class InvalidError(Error, ValueError):
    """A wrong argument or setting: a shape, a dtype, a device's name."""


class AxisError(InvalidError, IndexError):
    """An axis that the tensor does not have."""


class PlaceError(InvalidError, IndexError):
    """An index that is out of range for its axis."""


class RangeError(InvalidError, OverflowError):
    """A number, size or count that is too large for its type."""


class FileError(Error, OSError):
    """An error of the operating system; also raised as FileNotFoundError, IsADirectoryError and PermissionError."""


class FolderError(FileError, IsADirectoryError):
    """A folder where a file was expected."""


class MissingFileError(FileError, FileNotFoundError):
    """A missing file."""


class RefusedFileError(FileError, PermissionError):
    """A file or device that may not be opened."""


class NotFoundError(Error, RuntimeError):
    """A missing device, symbol, library or name."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but this device, build or version does not support it."""


class OutOfMemoryError(Error, MemoryError):
    """No memory left on the host or on a device."""


class CorruptError(Error, RuntimeError):
    """Bytes that violate their format."""


class CompileError(Error, RuntimeError):
    """A compiler rejected the code of a kernel."""


class DeadlineError(Error, TimeoutError):
    """A deadline passed: for example, the device hangs."""


class BusyError(Error, RuntimeError):
    """Held by another process or user."""


class StoppedError(Error, RuntimeError):
    """The computation was stopped: tensors that it was writing have no value."""


class DeviceLostError(Error, RuntimeError):
    """The device failed; others still work."""


class InternalError(Error, RuntimeError):
    """A bug in Doorbell: please report it."""


_KINDS: dict[str, type[Error]] = {
    "invalid": InvalidError, "not found": NotFoundError, "permission": RefusedFileError,
    "unsupported": UnsupportedError, "out of memory": OutOfMemoryError, "corrupt": CorruptError,
    "compile": CompileError, "timeout": DeadlineError, "busy": BusyError, "device lost": DeviceLostError,
    "stopped": StoppedError, "system": FileError, "internal": InternalError,
}


def make(kind: str, message: str, device: str, os_errno: int) -> Error:
    """The exception for an error of the library; the compiled part calls it."""
    cls = _KINDS.get(kind, Error)
    if kind == "invalid" and message.startswith("axis ") and " of a tensor with " in message:
        cls = AxisError
    if kind == "invalid" and message.startswith("index ") and " is out of range for axis " in message:
        cls = PlaceError
    if kind == "invalid" and " does not fit" in message:
        cls = RangeError
    if kind == "system" and os_errno == errno.EISDIR:
        cls = FolderError
    if kind == "not found" and os_errno:
        cls = MissingFileError
    # OSError with a number says "[Errno 2] message".
    error = cls(os_errno, message) if issubclass(cls, OSError) and os_errno else cls(message)
    error.kind, error.device = kind, device
    return error
