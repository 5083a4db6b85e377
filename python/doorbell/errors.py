"""What goes wrong, as Python's own kinds of exceptions; each is a doorbell.Error too, with the kind and the device."""
import errno


class Error(Exception):
    """Any error of Doorbell. `kind` is the library's word for it, `device` the device concerned or ""."""

    kind = ""
    device = ""


class InvalidError(Error, ValueError):
    """An argument or setting that cannot be meant: a shape, a dtype, a device's name."""


class AxisError(InvalidError, IndexError):
    """An axis that the tensor does not have."""


class PlaceError(InvalidError, IndexError):
    """An index that names no place on its axis."""


class RangeError(InvalidError, OverflowError):
    """A number, size or count that leaves what would hold it."""


class FileError(Error, OSError):
    """The operating system refused; FileNotFoundError, IsADirectoryError and PermissionError are also given as such."""


class FolderError(FileError, IsADirectoryError):
    """A folder where a file was expected."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class RefusedFileError(FileError, PermissionError):
    """A file or device that we may not open."""


class NotFoundError(Error, RuntimeError):
    """A device, symbol, library or name that is not there."""


class UnsupportedError(Error, NotImplementedError):
    """Understood, and this device, build or version cannot."""


class OutOfMemoryError(Error, MemoryError):
    """No memory left on the host or on a device."""


class CorruptError(Error, RuntimeError):
    """Bytes that are not what their format promises."""


class CompileError(Error, RuntimeError):
    """A compiler refused the code of a kernel."""


class DeadlineError(Error, TimeoutError):
    """A deadline passed: the device hangs, say."""


class BusyError(Error, RuntimeError):
    """Held by another process or user."""


class StoppedError(Error, RuntimeError):
    """The computation was stopped: what it was to write has no value."""


class DeviceLostError(Error, RuntimeError):
    """The device failed; others still work."""


class InternalError(Error, RuntimeError):
    """A mistake inside Doorbell: please report it."""


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
