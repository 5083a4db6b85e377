"""Lists what a reader of the reference would miss: public functions and classes without a word or without an example.

usage: missing.py ROOT HEADER...

A function of class Tensor and a free function need an example in the guide's pages; one in a header's comment will do.
What else is public, which is classes and their methods, needs that or a comment, of its own or of an overload; a
constructor has its class's. undocumented.txt beside this names the exceptions, each with its reason; one that is no
exception any more is an error too.
"""
import os
import re
import sys

from filter import FUNCTION, GROUP, PART, guide_blocks, shortest_example

SCOPE = re.compile(r"^\s*(?:(namespace)|(?:enum )?(?:class|struct))\b ?([\w:]*)")
ACCESS = re.compile(r"^ ?(public|protected|private):")
# No declaration: statements, and operators, which operators.h lists and the guide explains.
PASSED = re.compile(r"^\s*(?:return|throw|if|for|else|friend|using|static_assert|requires|#)\b|\boperator\b|= delete")


def lines_of(root, path):
    """A header's lines, with the parts of class Tensor in place."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if part := PART.match(line):
                with open(os.path.join(root, part[1]), encoding="utf-8") as part_file:
                    yield from ("  " + row for row in part_file.read().split("\n"))
            else:
                yield line


class Reader:
    """Walks a header by its braces; declares(kind, owner, name, documented) is called for what is public."""

    def __init__(self, declares):
        self.declares = declares
        self.scopes = []  # (kind, name, public): namespace, type, body
        self.pending = None
        self.commented = False  # by the comment above, which is for all lines up to the next empty one
        self.continued = False

    def hidden(self):
        return any(kind == "body" or name == "detail" or not public for kind, name, public in self.scopes)

    def owner(self):
        return next((name for kind, name, _ in reversed(self.scopes) if kind == "type"), "")

    def line(self, line):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.split("//")[0]).rstrip()
        if not code.strip():
            note = line.strip()
            self.commented = note.startswith("//") and not GROUP.match(line) and "NOLINT" not in note
            return
        if access := ACCESS.match(code):
            kind, name, _ = self.scopes[-1]
            self.scopes[-1] = (kind, name, access[1] == "public")
            return
        if not self.continued:
            self.declaration(code, self.commented or bool(re.search(r"// (?!NOLINT)\w", line)))
        self.braces(code)
        # A declaration goes on until it ends in one of these; what is before a template's function is for that one.
        self.continued = not code.endswith((";", "{", "}", ":")) and not re.match(r"\s*(?:template|requires|#)", code)

    def declaration(self, code, documented):
        scope = SCOPE.match(code)
        self.pending = None
        if scope and not code.endswith(";"):
            kind = "namespace" if scope[1] else "type"
            if kind == "type" and not self.hidden():
                self.declares("type", self.owner(), scope[2], documented)
            self.pending = (kind, scope[2].split("::")[-1], not code.startswith("class "))
            self.commented = False
        elif not self.hidden() and not PASSED.search(code) and (function := FUNCTION.match(code)):
            kind = "method" if self.owner() else "function"
            self.declares(kind, self.owner(), function[1], documented)

    def braces(self, code):
        for sign in re.findall(r"[{}]", code):
            if sign == "{":
                self.scopes.append(self.pending or ("body", "", True))
                self.pending = None
            else:
                self.scopes.pop()


def main():
    root, headers = sys.argv[1], sys.argv[2:]
    blocks = guide_blocks(root)
    found = {}  # (owner, name): [kind, documented]

    def declares(kind, owner, name, documented):
        entry = found.setdefault((owner, name), [kind, False])
        entry[1] |= documented

    for header in headers:
        lines = list(lines_of(root, header))
        if any("Not for users." in line for line in lines[:30]):
            continue
        # Examples in comments: lines that stand further in.
        blocks += ["\n".join(line.strip()[4:] for line in lines if re.match(r"\s*//   \S", line))]
        reader = Reader(declares)
        for line in lines:
            reader.line(line)

    with open(os.path.join(root, "build-aux/reference/undocumented.txt"), encoding="utf-8") as file:
        allowed = dict(line.split(": ", 1) for line in file.read().splitlines() if line and not line.startswith("#"))
    owners = {owner for owner, _ in found}
    missing = {}
    for (owner, name), (kind, documented) in found.items():
        if kind == "type" and name not in owners:
            continue  # plain data: its fields speak
        needs_example = kind == "function" or owner == "Tensor"
        if shortest_example(blocks, name) is None and (needs_example or not (documented or name == owner)):
            lack = "no example in the guide" if needs_example else "neither a comment nor an example"
            missing[f"{owner}::{name}" if owner else name] = lack
    stale = set(allowed) - set(missing)
    for name in sorted(set(missing) - set(allowed)):
        print(f"{name}: {missing[name]}")
    for name in sorted(stale):
        print(f"{name}: no exception any more, take it out of undocumented.txt")
    print(f"{len(found)} names, {len(missing)} without")
    # A reader that finds next to nothing has lost its way.
    return 0 if set(missing) == set(allowed) and len(found) > 300 else 1


if __name__ == "__main__":
    sys.exit(main())
