"""The walls of the house: which folder's files may include which others. The drawing is in docs/architecture.md.

A rule is (includer, what it may include), as patterns of paths from the root. The first includer that matches counts.
`{v}` is the vendor folder that the includer's pattern matched.
"""
import re

EVERYTHING = r".*"

RULES = (
    # Layouts of hardware words may include only base/.
    (r"drivers/(?P<v>[^/]+)/hw/", (r"base/", r"drivers/{v}/hw/")),
    # Drivers know neither the code generator nor each other.
    (r"drivers/(?P<v>[^/]+)/", (r"base/", r"hcq/", r"core/device/", r"drivers/{v}/")),
    (r"base/", (r"base/",)),
    (r"core/", (r"base/", r"core/")),
    (r"codegen/", (r"base/", r"core/", r"codegen/", r"drivers/[^/]+/hw/(isa|abi)/")),
    (r"hcq/", (r"base/", r"hcq/", r"core/device/")),
    # The emulator shares layouts with the drivers and nothing else: a shared mistake must not hide.
    # Emulators of two vendors share emulator/core.
    (r"emulator/(?P<v>amd|nv)/", (r"base/", r"emulator/(core|{v})/", r"drivers/{v}/hw/")),
    (r"emulator/core/", (r"base/", r"emulator/core/")),
    (r"emulator/", (r"base/", r"emulator/", r"drivers/[^/]+/hw/")),
    # The tensor API sees devices through the registry only.
    (r"tensor/", (r"base/", r"core/", r"codegen/", r"hcq/", r"tensor/")),
    (r"runtime/", (r"(base|core|codegen|hcq|drivers|emulator|tensor|runtime)/",)),
    # The suite judges devices by what they declare: it sees no driver.
    (r"conformance/", (r"(base|core|codegen|hcq|tensor|runtime|conformance)/",)),
    (r"tools/", (r"(?!tests/|bench/|examples/)",)),
    (r"python/", (r"(?!tests/|bench/|examples/|tools/)",)),
    (r"(examples|bench)/", (r"(?!tests/)",)),
    (r"tests/", (EVERYTHING,)),
    # What all libraries see without asking is the bottom's; the others are each one library's.
    (r"build-aux/precompiled/include/(library|test|llvm)\.h", (r"base/", r"build-aux/precompiled/")),
    (r"build-aux/precompiled/", (EVERYTHING,)),
)


def wrong(includer, included):
    """The name of the wall that this include crosses, or None."""
    for pattern, may in RULES:
        match = re.match(pattern, includer)
        if not match:
            continue
        vendor = match.groupdict().get("v") or ""
        if any(re.match(target.replace("{v}", re.escape(vendor)), included) for target in may):
            return None
        return match.group(0)
    return "a file outside the rooms"
