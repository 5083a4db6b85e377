"""Prints the headers of the installed library, one a line: what runtime/doorbell.h includes, directly or not.

usage: public_headers.py SOURCE_ROOT
"""
import os
import re
import sys


def main():
    root, start = sys.argv[1], "runtime/doorbell.h"
    found, todo = {start}, [start]
    while todo:
        with open(os.path.join(root, todo.pop()), encoding="utf-8") as file:
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.MULTILINE):
                if name not in found:
                    found.add(name)
                    todo.append(name)
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
