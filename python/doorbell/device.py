"""The devices there are, as tinygrad's users ask for them.

>>> Device.DEFAULT
'CPU'
>>> "CPU" in Device.names()
True
"""
from __future__ import annotations

from doorbell._doorbell import default_device, device_names, open_device, synchronize


class _Devices:
    @property
    def DEFAULT(self) -> str:
        """The device of tensors that name none: the environment variable DEV says which."""
        return default_device()

    def names(self) -> list[str]:
        """All kinds of devices that this version knows."""
        return list(device_names())

    def canonicalize(self, device: str | None) -> str:
        """The full name of a device, which is opened; None for the default one."""
        return default_device() if device is None else open_device(device)

    def __getitem__(self, device: str) -> str:
        """Opens a device and gives its full name; raises, with the reason, where it does not open."""
        return open_device(device)

    def synchronize(self) -> None:
        """Waits for all that was launched, on all devices."""
        synchronize()


Device = _Devices()
