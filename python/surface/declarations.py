"""Reads the tables of class Tensor's methods (tensor/api/methods/*.def): names, parameters and what is said of them."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    default: str | None


@dataclass(frozen=True)
class Declaration:
    name: str
    returns: str
    static: bool
    parameters: tuple
    comment: str


def split_parameters(text):
    """At the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def parse_parameter(text):
    text, _, default = (part.strip() for part in text.partition("="))
    kind, name = re.fullmatch(r"(.*?)([A-Za-z_]\w*)", text, re.DOTALL).groups()
    return Parameter(re.sub(r"\s+", " ", kind).strip(), name, default or None)


FORM = re.compile(r"(static )?((?:[\w:<>,]+ ?)+?[&*]? ?)\b([A-Za-z_]\w*)\((.*)\)( const)?$", re.DOTALL)


def parse_statement(code, comment):
    code = re.sub(r"^template <[^>]*>\s*", "", re.sub(r"\s+", " ", code).strip())
    match = FORM.match(code)
    if not match:
        return None
    static, returns, name, parameters, _ = match.groups()
    return Declaration(name, returns.strip(), bool(static),
                       tuple(parse_parameter(part) for part in split_parameters(parameters)), comment)


def read(path):
    """The declarations of a table, in its order, each with its comment in one line."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    found, code, before = [], "", []
    # The comment at the top of a table is about all of it.
    for line in lines[next(i for i, line in enumerate(lines) if not line.startswith("//")):]:
        text, mark, comment = line.partition("//")
        if not text.strip() and not code:
            if not mark:
                before = []
            elif not comment.strip().startswith("----"):
                before.append(comment.strip())
            else:
                before = []
            continue
        code += " " + text.strip()
        if code.rstrip().endswith(";") or code.rstrip().endswith("}"):
            head = re.split(r"\s*\{ return|\s*;$|\s*\{$", code.strip())[0]
            head = re.sub(r" const \{.*$", " const", head)
            declaration = parse_statement(head, " ".join([*before, comment.strip()]).strip())
            if declaration and "operator" not in declaration.name:
                found.append(declaration)
            code = ""
            if mark or not comment:
                pass
            before = []
    return found
