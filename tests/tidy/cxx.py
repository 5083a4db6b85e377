"""As much reading of C++ as tidy needs: text without comments and literals, includes, and where functions lie.

Not a parser: it leans on the code being formatted by clang-format.
"""
import re
from dataclasses import dataclass

# One token that is not code: a comment, a string with its prefix, a character. A quote between digits is a separator.
_NOT_CODE = re.compile(
    r"""//[^\n]*(?:\\\n[^\n]*)*
      | /\*.*?\*/
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    """, re.S | re.X)


def blank(text):
    """The text with comments and literals replaced by blanks, lines where they were. Includes keep their names."""

    def erase(match):
        found = match.group(0)
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if found.startswith('"') and re.match(r"\s*#\s*include\s*$", before):
            return found
        return re.sub(r"[^\n]", " ", found)

    return _NOT_CODE.sub(erase, text)


def includes(text):
    """(line, path) of each #include "path"."""
    return [(number, match.group(1))
            for number, line in enumerate(text.split("\n"), 1)
            if (match := re.match(r'\s*#\s*include\s+"([^"]+)"', line))]


@dataclass(frozen=True)
class Function:
    name: str
    first: int
    last: int


# Blocks that hold declarations: what is inside may be a function again.
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def functions(lines):
    """Outermost function bodies of blanked lines; lambdas and local classes belong to the function around them."""
    found = []
    stack = []  # for each open brace: "scope", "other", or the Function that starts there
    head, head_line = "", 0  # the declaration so far, and the line where it started
    directive = False  # a preprocessor line, or the continuation of one
    for number, line in enumerate(lines, 1):
        directive = line.lstrip().startswith("#") or (directive and lines[number - 2].endswith("\\"))
        if directive:
            continue
        for character in line + "\n":
            inside = any(kind != "scope" for kind in stack)
            if character == "{":
                stack.append("other" if inside else _kind(head, head_line))
                head = ""
            elif character == "}":
                kind = stack.pop() if stack else "other"
                if isinstance(kind, tuple):
                    found.append(Function(kind[0], kind[1], number))
                head = ""
            elif character == ";" and not inside and head.count("(") == head.count(")"):
                head = ""
            elif not inside:
                if not head.strip():
                    head_line = number
                head += character
    return found


def _kind(head, head_line):
    """What the brace after this declaration opens."""
    plain = re.sub(r"<[^<>]*>|\[\[.*?\]\]", " ", head)
    before_arguments = plain.split("(")[0]
    if _SCOPE.search(before_arguments) and not re.search(r"\)\s*(const|noexcept|override|final)*\s*$", plain):
        return "scope"
    name = re.search(r"([~\w:]+|operator\S+)\s*\(", plain)
    if name and "=" not in before_arguments.replace("operator", ""):
        arguments = re.search(r"\(\s*(\w+)\s*,\s*(\w+)\s*\)", plain)
        test = re.match(r"TEST(_[FP])?$", name.group(1)) and arguments
        return (f"{arguments.group(1)}.{arguments.group(2)}" if test else name.group(1), head_line)
    return "other"
