"""Prints a header as Doxygen reads it: plain comments as documentation, the parts of a class that it includes in place.

usage: filter.py HEADER

Where the guide docs/api.md uses a function, its block is shown as the example: those blocks are compiled and run. The
house style has no markup in comments. A comment before a declaration, behind it, or at a file's head documents it;
"// ---- text ----" begins a group; lines indented further are an example.
"""
import os
import re
import sys

GROUP = re.compile(r"^\s*// ---- (.*?)(?: \([^)]*\))? ----$")
BEFORE = re.compile(r"^(\s*)//( ?)(.*)$")
BEHIND = re.compile(r"^(\s*[^\s/].*[;,{}\]]\s*)// (.*)$")
FUNCTION = re.compile(r"^(?:  )?(?:static |explicit |virtual )*[\w:<>&*, ]*?[ &*](\w+)\(")
PART = re.compile(r'^\s*#include "(.*/methods/.*)"$')


def document(text):
    """Markup characters in prose are meant as they stand; only `code` is marked."""
    parts = [re.sub(r"([\\@<>&#%$\"])", r"\\\1", part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if i % 2 and i < len(parts) - 1 else part for i, part in enumerate(parts))


def guide_blocks(root):
    """The guide's blocks of C++, in order."""
    with open(os.path.join(root, "docs/api.md"), encoding="utf-8") as file:
        return re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)


class Filter:
    def __init__(self, root):
        self.root = root
        self.out = []
        self.blocks = guide_blocks(root)
        self.shown = set()
        self.in_group = self.after_behind = self.in_example = False

    def end_group(self):
        if self.in_group:
            self.out.append("/// @}")
        self.in_group = False

    def group(self, title):
        self.end_group()
        self.out += [f"/// @name {document(title)}", "/// @{"]
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
        """Before the first declaration of a function: the shortest block of the guide that calls it."""
        function = FUNCTION.match(line)
        if not function or function[1] in self.shown or line.lstrip().startswith(("return", "throw", "if")):
            return
        self.shown.add(function[1])
        uses = [block for block in self.blocks if re.search(rf"\b{function[1]}[(<]", block)]
        if not uses:
            return
        example = ["/// @par Example", "/// @code{.cpp}"]
        example += [f"/// {row}" for row in min(uses, key=len).rstrip().split("\n")] + ["/// @endcode"]
        # Before the whole declaration, which may have begun with a template's parameters.
        at = len(self.out) - (1 if self.out and self.out[-1].lstrip().startswith("template") else 0)
        self.out[at:at] = example

    def line(self, line):
        if group := GROUP.match(line):
            self.close_example()
            self.group(group[1])
        elif part := PART.match(line):
            self.part(part[1])
        elif before := BEFORE.match(line):
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
        title = " ".join(head).split("includes this: ")[-1].split(". ")[0].rstrip(".")
        self.group(re.sub(r" \([^)]*\.cc\)", "", title))
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
