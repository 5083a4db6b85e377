"""Compares records and numbers of drivers/*/hw with a packaged header: as static_asserts, which a compiler checks."""
import os
import re
import subprocess
from dataclasses import dataclass, field

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
SYSTEM = "/usr/include"

# Where a field of a record of words lies (base/bits/record.h).
OPENING = """
using namespace doorbell;
struct Place {
  unsigned low = ~0u, width = 0;
};
template <class T>
constexpr Place place_of(std::string_view wanted) {
  Place place;
  T record;
  T::fields(record, [&](std::string_view name, Bits bits, auto&, auto...) {
    if (name == wanted) place = {bits.lo, bits.width()};
  });
  return place;
}
"""


@dataclass
class Record:
    """Our struct, theirs (or several names of it, the newest first), and the request of an ioctl. `grows`: newer
    headers add fields at the end."""
    ours: str
    theirs: object
    request: str = None
    fields: list = None
    renamed: dict = field(default_factory=dict)
    grows: bool = False


@dataclass
class Group:
    """What is compared with one header. `places`: {(record of words, field): (lowest bit, width)} in C++. `newer`:
    names that only newer headers have, and what brought them; `no_counterpart`: ours that the header does not define,
    and why. `wrong`: changes to the header (pattern, replacement), and the assertion that each must break."""
    header: str
    package: str
    includes: list
    ours: list
    records: list = field(default_factory=list)
    bits: list = field(default_factory=list)
    numbers: dict = field(default_factory=dict)
    places: dict = field(default_factory=dict)
    chips: list = field(default_factory=list)
    newer: dict = field(default_factory=dict)
    no_counterpart: dict = field(default_factory=dict)
    opening: list = field(default_factory=list)
    extra: list = field(default_factory=list)
    folders: list = field(default_factory=lambda: [SYSTEM])
    wrong: list = field(default_factory=list)
    wrong_header: str = None
    namespace: str = "doorbell::amd::hw"

    def folder(self):
        """The first folder that has the header; None where it is not installed."""
        return next((one for one in self.folders if os.path.exists(os.path.join(one, self.header))), None)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def body_of(text, name):
    """What stands between the braces of a struct, None where there is none of that name."""
    begin = re.search(rf"\bstruct\b[^;{{}}()]*(?:\([^{{}};]*\))*[^;{{}}]*\b{name}\b\s*\{{", text)
    if not begin:  # typedef struct {...} name
        typedef = re.search(rf"\}}\s*{name}\s*;", text)
        return text[text.rfind("typedef struct", 0, typedef.start()):typedef.start()] if typedef else None
    depth, at = 1, begin.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin.end():at - 1]


def members_of(text, name):
    """The data members of one of our records. Padding has no name that is worth comparing."""
    statics = r"static[^;{]*\{.*?\n  \}|static[^;]*\{[^\n]*\}\n|static[^;]*;"
    body = re.sub(statics, "", body_of(text, name), flags=re.DOTALL)
    names = []
    for line in re.findall(r"^\s*(?:[uif]\d+|bool|\w+) ([^;()]+);", body, re.MULTILINE):
        names += [re.match(r"\s*(\w+)", part).group(1) for part in re.sub(r"\{[^}]*\}", "", line).split(",")]
    return [name for name in names if not re.match(r"(pad|reserved)", name)]


def compile_text(compiler, source, flags):
    return subprocess.run([*compiler, "-std=c++20", "-w", "-x", "c++", *flags, "-"], input=source, text=True,
                          capture_output=True, check=False)


def complaints(stderr):
    """Messages of assertions that failed, or else of the compiler."""
    reason = r"static(?: assertion|_assert) failed(?: due to requirement '.*')?:? \"?([^\"\n]*)"
    failed = re.findall(reason, stderr)
    return failed or re.findall(r".*error:.*", stderr)


class Comparison:
    """The program of assertions for one group, and what had to be left out: skipped = {name: why}."""

    def __init__(self, group, compiler, first=()):
        self.group, self.compiler = group, compiler
        self.flags = ["-I", ROOT]
        for folder in first:
            self.flags += ["-isystem", folder]
        if group.folder() != SYSTEM:
            self.flags += ["-isystem", group.folder()]
        self.flags += ["-isystem", os.path.join(FOLDER, "include")]
        self.skipped, self.wrong, self.lines = {}, [], []
        self.ours = without_comments("".join(read(path) for path in group.ours))
        self.includes = "".join(f"#include <{name}>\n" for name in ["cstddef", "cstdint", *group.includes])
        text = compile_text(compiler, self.includes, [*self.flags, "-E", "-dD"]).stdout
        self.header = without_comments(text)
        self.words = set(re.findall(r"\w+", self.header))

    def has(self, *names):
        """Whether the header has all the names; one that it should have and lacks is wrong."""
        missing = [name for name in names if name not in self.words]
        for name in missing:
            if name in self.group.newer:
                self.skipped[name] = f"this header is older: {self.group.newer[name]} brought it"
            else:
                self.wrong.append(f"{self.group.header} has no {name}")
        return not missing

    def check(self, condition, what):
        self.lines.append(f'static_assert({condition}, "{what}");')

    def theirs(self, record):
        names = (record.theirs,) if isinstance(record.theirs, str) else record.theirs
        name = next((name for name in names if name in self.words), names[-1])
        if not self.has(name):
            return None, None
        tag = f"struct {name}" if re.search(rf"\bstruct\b[^;{{}}]*\b{name}\b\s*\{{", self.header) else name
        return name, tag

    def compare_record(self, record):
        name, tag = self.theirs(record)
        if name is None:
            return
        self.lines.append(f"using Their{record.ours} = {tag};")
        body, whole = body_of(self.header, name) or "", True
        for ours in record.fields or members_of(self.ours, record.ours):
            theirs = record.renamed.get(ours, ours)
            last = re.findall(r"[A-Za-z_]\w*", theirs)[-1]
            if "." not in theirs and not re.search(rf"\b{last}\b", body):
                whole = False
                self.has(last) and self.wrong.append(f"{name} has no {last}")
                continue
            if "." in theirs and not self.has(last):
                whole = False
                continue
            self.check(f"offsetof({record.ours}, {ours}) == offsetof(Their{record.ours}, {theirs})",
                       f"{record.ours}.{ours}")
            self.check(f"sizeof((({record.ours}*)nullptr)->{ours}) == sizeof(((Their{record.ours}*)nullptr)->{theirs})",
                       f"size of {record.ours}.{ours}")
        if whole or record.grows:
            self.check(f"sizeof({record.ours}) {'<=' if record.grows else '=='} sizeof(Their{record.ours})",
                       f"size of {record.ours}")
            if record.request and self.has(record.request):
                self.check(f"kRequest<{record.ours}> == static_cast<u32>({record.request})", record.request)

    def compare_bits(self, record):
        name, tag = self.theirs(record)
        if name is None:
            return
        self.lines.append(f"using Their{record.ours} = {tag};")
        self.check(f"{record.ours}::kWords * 4 == sizeof(Their{record.ours})", f"size of {record.ours}")
        for ours in record.fields:
            theirs = record.renamed.get(ours, ours)
            self.check(f'place_of<{record.ours}>("{ours}").low == offsetof(Their{record.ours}, {theirs}) * 8',
                       f"{record.ours}.{ours}")
            self.check(f'place_of<{record.ours}>("{ours}").width == '
                       f"sizeof(((Their{record.ours}*)nullptr)->{theirs}) * 8", f"width of {record.ours}.{ours}")

    def compare_chips(self):
        for path in self.group.chips:
            for row in re.findall(r'\{("gfx\w+"|0x\w\w), +("gfx\w+"|0x\w\w)', without_comments(read(path))):
                name, number = sorted(row)
                theirs = f"EF_AMDGPU_MACH_AMDGCN_{name.strip(chr(34)).upper()}"
                if self.has(theirs):
                    self.check(f"{number} == {theirs}", theirs)

    def program(self):
        group = self.group
        self.lines += [f'#include "{path}"' for path in group.ours if path.endswith(".h")]
        self.lines += ["#include <string_view>", OPENING, f"using namespace {group.namespace};", *group.opening]
        for record in group.records:
            self.compare_record(record)
        for record in group.bits:
            self.compare_bits(record)
        for ours, theirs in group.numbers.items():
            if theirs.startswith("sizeof") or self.has(theirs):
                self.check(f"static_cast<u32>({ours}) == static_cast<u32>({theirs})", ours)
        for (record, ours), (low, width) in group.places.items():
            if self.has(*sorted(set(re.findall(r"\b[A-Z]\w*", f"{low} {width}")))):
                self.check(f'place_of<{record}>("{ours}").low == ({low})', f"{record}.{ours}")
                self.check(f'place_of<{record}>("{ours}").width == ({width})', f"width of {record}.{ours}")
        self.compare_chips()
        return self.includes + "\n".join([*self.lines, *group.extra]) + "\n"

    def broken(self):
        """What does not hold."""
        done = compile_text(self.compiler, self.program(), [*self.flags, "-fsyntax-only"])
        return self.wrong + complaints(done.stderr)


def left_out(group):
    """Structs, enums and numbers of our files that the group neither compares nor says why not."""
    text = without_comments("".join(read(path) for path in group.ours))
    known = {*(record.ours for record in group.records + group.bits), *group.no_counterpart,
             *(record for record, _ in group.places)}
    known |= {name.split("::")[0].split("{")[0] for name in group.numbers}
    names = re.findall(r"^(?:struct|enum class) (?:alignas\(\d+\) )?(\w+)", text, re.MULTILINE)
    for line in re.findall(r"^inline constexpr (?:u8|u16|u32|u64|usize) ([^;]+);", text, re.MULTILINE):
        names += re.findall(r"\b(k[A-Z]\w+) =", line)
    missing = [name for name in names if name not in known]
    for record in {record for record, _ in group.places}:
        compared = {name for owner, name in group.places if owner == record}
        compared |= {name for other in group.bits if other.ours == record for name in other.fields}
        fields = re.findall(r'\bf\("(\w+)"', body_of(text, record))
        missing += [f"{record}.{name}" for name in fields
                    if name not in compared and f"{record}.{name}" not in group.no_counterpart]
    return missing
