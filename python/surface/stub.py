"""Writes the type stubs of the compiled module: nanobind's, with names that Tensor's methods hide made clear.

usage: stub.py FOLDER OUTPUT        FOLDER is where the package doorbell can be imported from
"""
import importlib
import re
import sys

from nanobind import stubgen

# Tensor has methods of these names, which within its class would stand for the types.
HIDDEN = re.compile(r"(?<![\w.\"])(int|float|bool|type)\b(?!\()")


def spelled_out(line):
    """A line of a class with the builtin types by their full names."""
    head, bracket, rest = line.partition("(")
    line = head + bracket + HIDDEN.sub(r"builtins.\1", rest)
    line = line.replace("numpy.typing.ArrayLike", "_ArrayLike").replace("numpy.ndarray", "_Array")
    # Comparisons give tensors, as everywhere with arrays.
    return line + "  # type: ignore[override]" if re.match(r"    def __(eq|ne)__", line) else line


def unwrap(module):
    """stubgen knows only nanobind's functions, not those that wrap them."""
    for owner in [module, *(value for value in vars(module).values() if isinstance(value, type))]:
        for name, member in list(vars(owner).items()):
            if name == "__signature__":
                delattr(owner, name)
            elif hasattr(type(member), "__wrapped__"):
                setattr(owner, name, member.__wrapped__)


def main():
    folder, output = sys.argv[1:]
    sys.path.insert(0, folder)
    unwrap(importlib.import_module("doorbell._doorbell"))
    stubgen.main(["-q", "-P", "-i", folder, "-m", "doorbell._doorbell", "-o", output])
    with open(output, encoding="utf-8") as file:
        lines = file.read().split("\n")
    within = False
    for number, line in enumerate(lines):
        if line and not line.startswith((" ", ")")):
            within = line.startswith("class Tensor")
        if within and line.startswith("    def "):
            lines[number] = spelled_out(line)
    first = next(i for i, line in enumerate(lines) if line.startswith(("from ", "import ")))
    lines[first:first] = ["import builtins"]
    after = max(i for i, line in enumerate(lines[:40]) if line.startswith(("from ", "import ")))
    lines[after + 1:after + 1] = ["", "_ArrayLike = numpy.typing.ArrayLike", "_Array = numpy.typing.NDArray[Any]"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
