"""Prints which of these options of `meson setup` a build folder has with another value, one per line.

usage: changed_options.py BUILD_FOLDER OPTION...      -Dname=value, or --name=value for one of meson's own
"""
import json
import os
import re
import sys

OPTION = re.compile(r"(?:-D|--)([^=]+)=(.*)")


def spelled(value):
    """As on a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


def changed(folder, options):
    with open(os.path.join(folder, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        present = {option["name"]: spelled(option["value"]) for option in json.load(file)}
    asked = {}
    for option in options:
        name, value = OPTION.fullmatch(option).groups()
        asked[name] = (value, option)  # the last one counts
    for name, (value, option) in asked.items():
        # An option that is newer than the folder is not there at all.
        if present.get(name) != value:
            yield option


if __name__ == "__main__":
    for line in changed(sys.argv[1], sys.argv[2:]):
        print(line)
