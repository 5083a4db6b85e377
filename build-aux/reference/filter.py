"""Prints a header as Doxygen reads it: plain comments as documentation, the parts of a class that it includes in place.

usage: filter.py HEADER

Where a page of the guide uses a function or a class, its lines are shown as the example: those blocks are compiled
and run. The house style has no markup in comments. A comment before a declaration, behind it, or at a file's head
documents it; "// ---- text ----" begins a group, and so does "// ---- text" with the lines after it; lines indented
further are an example.
"""
import os
import re
import sys

PAGES = ("docs/api.md", "docs/functions.md", "docs/quickstart.md")
GROUP = re.compile(r"^\s*// ---- (.*?)(?: \([^)]*\))?( ----)?$")
BEFORE = re.compile(r"^(\s*)//( ?)(.*)$")
BEHIND = re.compile(r"^(\s*[^\s/].*[;,{}\]]\s*)// (.*)$")
FUNCTION = re.compile(r"^(?:  )?(?:static |explicit |virtual )*[\w:<>&*, ]*?[ &*](\w+)\(")
TYPE = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: : [^{;]*)? \{")
PART = re.compile(r'^\s*#include "(.*/methods/.*)"$')


def document(text):
    """Markup characters in prose are meant as they stand; only `code` is marked."""
    parts = [re.sub(r"([\\@<>&#%$\"])", r"\\\1", part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if i % 2 and i < len(parts) - 1 else part for i, part in enumerate(parts))


def guide_blocks(root):
    """The blocks of C++ of the guide's pages, in order."""
    blocks = []
    for page in PAGES:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            blocks += re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)
    return blocks


def excerpt(block, name):
    """The lines that show `name` in use: of those that print or throw only its own. None where there is no use."""
    use = re.compile(rf"(?<![\w]){name}(?:[(<>{{;]|[&*]? \w)")
    if not any(use.search(row.split("  //")[0]) for row in block.split("\n")):
        return None
    rows, keep, checks = [], True, False
    for row in block.rstrip().split("\n"):
        if not (checks and re.match(r"\s{8,}// ", row)):  # what is printed goes on
            checks = row.lstrip().startswith("std::cout") or "// throws: " in row
            keep = not checks or use.search(row.split("  //")[0])
        if keep:
            rows.append(row)
    return rows


def shortest_example(blocks, name):
    """The shortest excerpt, as lines."""
    found = [rows for rows in (excerpt(block, name) for block in blocks) if rows]
    return min(found, key=lambda rows: sum(map(len, rows)), default=None)


class Filter:
    def __init__(self, root):
        self.root = root
        self.out = []
        self.blocks = guide_blocks(root)
        self.shown = set()
        self.open_group = ""
        self.in_group = self.after_behind = self.in_example = False

    def end_group(self):
        if self.in_group:
            self.out.append("/// @}")
        self.in_group = False

    def group(self, text):
        """A group's title is its first sentence, the rest what is said of it."""
        self.end_group()
        title, _, rest = text.partition(". ")
        self.out.append(f"/// @name {document(title.rstrip('.'))}")
        self.out += [f"/// {document(rest)}"] * bool(rest) + ["/// @{"]
        self.in_group = True

    def comment(self, indent, text, mark):
        example = text.startswith("  ")
        if example != self.in_example:
            self.out.append(indent + mark + (" @code{.cpp}" if example else " @endcode"))
        self.in_example = example
        self.out.append(f"{indent}{mark} {text if example else document(text.strip())}")

    def close_example(self, mark="///"):
        if self.in_example:
            self.out.append(mark + " @endcode")
        self.in_example = False

    def example(self, line):
        """Before the first declaration of a function or a class: the shortest excerpt of the guide that uses it."""
        declared = TYPE.match(line) or FUNCTION.match(line)
        if not declared or line.lstrip().startswith(("return", "throw", "if")):
            return
        if declared[1] in self.shown | {"operator"}:
            return
        self.shown.add(declared[1])
        rows = shortest_example(self.blocks, declared[1])
        if not rows:
            return
        example = ["/// @par Example", "/// @code{.cpp}"]
        example += [f"/// {row}" for row in rows] + ["/// @endcode"]
        # Before the whole declaration, which may have begun with a template's parameters.
        at = len(self.out) - (1 if self.out and self.out[-1].lstrip().startswith("template") else 0)
        self.out[at:at] = example

    def line(self, line):
        before = BEFORE.match(line)
        if self.open_group and before:
            self.open_group += " " + before[3]
            return
        if self.open_group:
            self.group(self.open_group)
            self.open_group = ""
        if group := GROUP.match(line):
            self.close_example()
            if group[2]:
                self.group(group[1])
            else:
                self.open_group = group[1]
        elif part := PART.match(line):
            self.part(part[1])
        elif before:
            # Lines under a comment behind a declaration go on with it.
            mark = "///<" if self.after_behind else "///"
            self.comment(before[1], before[3], mark)
            return
        else:
            self.close_example()
            self.example(line)
            if line.startswith("};"):
                self.end_group()
            behind = BEHIND.match(line)
            if behind and not line.lstrip().startswith("#"):
                self.out.append(f"{behind[1]}///< {document(behind[2])}")
                self.after_behind = True
                return
            self.out.append(line)
        self.after_behind = False

    def part(self, path):
        """A file of methods: its head says what group they are."""
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            lines = file.read().split("\n")
        head = []
        while lines and lines[0].startswith("//"):
            head.append(lines.pop(0)[2:].strip())
        self.group(re.sub(r"\s*\([^)]*\.cc\)", "", " ".join(head).split("includes this: ")[-1]))
        for line in lines:
            self.line(line)

    def file(self, path):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if lines and lines[0].startswith("//"):
            self.out.append("/// @file")
            while lines and lines[0].startswith("//"):
                self.line(lines.pop(0))
            self.close_example()
        for line in lines:
            self.line(line)
        return "\n".join(self.out)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print(Filter(root).file(sys.argv[1]))


if __name__ == "__main__":
    main()
