"""Writes the module's functions: the methods of Tensor whose entries beside this file have the flag `function`.

usage: functions.py OUTPUT ENTRIES...
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import entries as entries_of  # noqa: E402

HEAD = '''"""Made from python/surface by functions.py: methods of Tensor that are functions of the module too."""
from doorbell._doorbell import Tensor as _Tensor

'''


def main():
    output, *paths = sys.argv[1:]
    names = [name for path in paths for entry in entries_of.read(path) if "function" in entry.flags
             for name in entry.names]
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"{name} = _Tensor.{name}\n" for name in names))


if __name__ == "__main__":
    main()
