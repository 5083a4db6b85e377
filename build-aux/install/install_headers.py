"""Installs the staged public headers (stage_headers.py) under the prefix. Run by `meson install`.

usage: install_headers.py STAGED INCLUDE_FOLDER     STAGED in the build folder, INCLUDE_FOLDER under the prefix
"""
import os
import shutil
import sys


def main():
    staged, folder = os.path.join(os.environ["MESON_BUILD_ROOT"], sys.argv[1]), sys.argv[2]
    target = os.path.join(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], folder, "doorbell")
    shutil.rmtree(target, ignore_errors=True)  # headers of an older version would be found beside ours
    shutil.copytree(os.path.join(staged, "doorbell"), target)


if __name__ == "__main__":
    main()
