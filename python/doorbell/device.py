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
        """The device of tensors made without one; the environment variable DEV chooses it."""
        return default_device()

    def names(self) -> list[str]:
        """All kinds of devices that this version knows."""
        return list(device_names())

    def canonicalize(self, device: str | None) -> str:
        """The full name of a device, which is opened; None for the default one."""
        return default_device() if device is None else open_device(device)

    def __getitem__(self, device: str) -> str:
        """Opens a device and returns its full name; raises an error with the reason if it does not open."""
        return open_device(device)

    def synchronize(self) -> None:
        """Waits for all launched work on all devices."""
        synchronize()


Device = _Devices()
