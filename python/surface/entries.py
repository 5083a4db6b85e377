"""Reads the files beside this one: for each method of Tensor its Python signature, what it calls, and its docstring.

    @ Shape: ... Dtype: ... Raises: ...     what holds for the entries that follow, unless they say else
    == name                                 as the table declares it
    == name = other                         the table calls it `other`
    == [flags] name, alias(a|b: type = default, *rest: type) -> result
       = C++ expression
    What it does.
    >>> example

Flags: function (of the module doorbell too, under all of its names); static; gil (it computes: the interpreter's lock
is released); inplace (gives itself); either (called on a tensor, or on the class with tensors). `a|b|c`: the keyword
names of one parameter, of which a call may use any.
"""
import re
from dataclasses import dataclass, field

NOTES = ("Shape", "Dtype", "Raises")


@dataclass
class Parameter:
    names: list
    type: str
    default: str | None
    star: str  # "", "*" or "**"


@dataclass
class Entry:
    names: list
    flags: set
    parameters: list | None  # None: as the table declares
    returns: str
    expression: str
    declared: str  # the table's name
    where: str
    text: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)
    example: list = field(default_factory=list)

    def docstring(self):
        """What it does, its shapes, dtypes and errors, and an example."""
        notes = [f"{name}: {self.notes[name]}" for name in NOTES if self.notes.get(name)]
        parts = ["\n".join(self.text), "\n".join(notes), "\n".join(self.example)]
        return "\n\n".join(part for part in parts if part)


def read_notes(text):
    """The text without its notes, and the notes."""
    parts = re.split(rf"(?:^|(?<=\s))({'|'.join(NOTES)}): ", text)
    return parts[0].strip(), {name: note.strip() for name, note in zip(parts[1::2], parts[2::2])}


def split_outside(text):
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


OPTIONS = ("dtype: dtype? = None", "device: devices = None", "requires_grad: bool = False")


def parse_parameters(text):
    parameters = []
    for part in split_outside(text):
        if part == "options":
            parameters += [parse_parameters(option)[0] for option in OPTIONS]
            continue
        star, names, kind, default = re.fullmatch(r"(\**)([\w|]+): ([\w?]+)(?: = (.*))?", part).groups()
        parameters.append(Parameter(names.split("|"), kind, default, star))
    return parameters


def parse_header(line, where):
    form = r"== ((?:(?:function|static|gil|inplace|either) )*)([\w, ]+?)(?: = (\w+))?(?:\((.*)\))?(?: -> (.*))?"
    match = re.fullmatch(form, line)
    assert match, f"{where}: {line}"
    flags, names, declared, parameters, returns = match.groups()
    names = [name.strip() for name in names.split(",")]
    return Entry(names, set(flags.split()), None if parameters is None else parse_parameters(parameters),
                 returns or "Tensor", "", declared or names[0], where)


def read(path):
    entries, shared = [], {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if line.startswith("#") and not entries:
            continue
        if line.startswith("@ "):
            text, shared = read_notes(line[2:])
            assert not text, f"{where}: {text}"
        elif line.startswith("== "):
            entries.append(parse_header(line, where))
            entries[-1].notes = dict(shared)
        elif line.startswith("   = ") or (line.startswith("     ") and not entries[-1].example):
            entries[-1].expression += line.strip().removeprefix("= ") + " "
        elif line.startswith(">>>") or (entries and entries[-1].example and line):
            entries[-1].example.append(line)
        elif line:
            text, notes = read_notes(line)
            entries[-1].notes.update(notes)
            if text:
                entries[-1].text.append(text)
    return entries
