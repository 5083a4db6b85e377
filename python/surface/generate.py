"""Writes the bindings of Tensor's methods: from the tables of tensor/api/methods and from the entries beside this file.

usage: generate.py TABLES OUTPUT ENTRIES TABLE|-      one C++ file for one file of entries
       generate.py TABLES OUTPUT - ENTRIES...         the function that calls them all

A method of a table that no entry binds is an error, unless LEFT_OUT says why not.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import declarations  # noqa: E402
import entries as entries_of  # noqa: E402

LEFT_OUT = {
    "of": "Tensor(...)", "from_data": "Tensor(...)", "at": "brackets", "set_at": "brackets", "T": "a property",
    "max_pool2d_with_indices": "max_pool2d(return_indices=True)", "interpolate_by": "interpolate(scale_factor=)",
}

SEQUENCE = "collections.abc.Sequence"
# type of a parameter: what the C++ function takes, what a signature says
TYPES = {
    "tensor": ("const Tensor&", "Tensor"),
    "tensors": ("const std::vector<Tensor>&", f"{SEQUENCE}[Tensor]"),
    "value": ("const Value&", "Tensor | float | numpy.typing.ArrayLike"),
    "number": ("Num", "float"),
    "int": ("i64", "int"),
    "float": ("f64", "float"),
    "floats": ("const std::vector<f64>&", f"{SEQUENCE}[float]"),
    "bool": ("bool", "bool"),
    "str": ("const std::string&", "str"),
    "bytes": ("nb::handle", "bytes"),
    "ints": ("const Ints&", f"int | {SEQUENCE}[int]"),
    "kernel": ("const Kernel&", f"int | {SEQUENCE}[int]"),
    "axes": ("const AxesArg&", f"int | {SEQUENCE}[int] | None"),
    "shape": ("const ShapeArg&", f"int | Size | {SEQUENCE}[int | Size]"),
    "sizes": ("const SizesArg&", f"int | Size | {SEQUENCE}[int | Size | None]"),
    "dtype": ("DTypeArg", "DType | str | type"),
    "devices": ("const DevicesArg&", f"str | {SEQUENCE}[str] | None"),
    "object": ("nb::handle", "object"),
}
OPTIONAL = {"tensor": "const MaybeTensor&"}  # others: std::optional
TAKES_NONE = ("axes", "devices", "object")
STARRED = {  # type after *: of each item in a signature, and what makes the values of the arguments
    "shape": ("int | Size | collections.abc.Sequence[int | Size]", "const Shape {0} = shape_of({0}_given);"),
    "sizes": ("int | Size | None | collections.abc.Sequence[int | Size | None]",
              "const SizesArg {0} = sizes_of({0}_given);"),
    "ints": (f"int | {SEQUENCE}[int]", "const std::vector<i64> {0} = ints_of({0}_given);"),
    "tensors": (f"Tensor | {SEQUENCE}[Tensor]", "const std::vector<Tensor> {0} = tensors_of({0}_given);"),
    "values": (TYPES["value"][1], "const std::vector<Value> {0} = values_of({0}_given);"),
    "int": ("int", ""),
}
# The default type for a parameter of a table.
BY_TABLE = {
    "const Operand&": ("value", ["x", "other", "x2"]), "const Tensor&": ("tensor", ["x", "other", "x2"]),
    "i64": ("int", None),
    "f64": ("float", None), "bool": ("bool", None), "DType": ("dtype", None),
}
CONSTANTS = {"None": "nb::none()", "True": "true", "False": "false", "true": "true", "false": "false"}


def cxx_type(kind):
    base = kind.rstrip("?")
    if not kind.endswith("?"):
        return TYPES[base][0]
    if base in OPTIONAL:
        return OPTIONAL[base]
    plain = TYPES[base][0].removeprefix("const ").removesuffix("&")
    return f"const std::optional<{plain}>&"


def sig_type(kind):
    base = kind.rstrip("?")
    return TYPES[base][1] + (" | None" if kind.endswith("?") and "None" not in TYPES[base][1] else "")


def takes_none(kind):
    return kind.endswith("?") or kind in TAKES_NONE


def literal(text):
    return 'R"doc(' + text + ')doc"'


def complete(entry, declared):
    """An entry without parameters gets those of the table."""
    if entry.parameters is not None:
        return
    assert entry.declared in declared or entry.expression, f"{entry.where}: no table declares {entry.declared}"
    entry.parameters = []
    if entry.expression:
        return
    names = []
    for parameter in declared[entry.declared].parameters:
        assert parameter.type in BY_TABLE, f"{entry.where}: say the signature: {parameter.type} {parameter.name}"
        kind, known = BY_TABLE[parameter.type]
        default = {"true": "True", "false": "False"}.get(parameter.default, parameter.default)
        entry.parameters.append(entries_of.Parameter(
            known if known and parameter.name == "x" else [parameter.name], kind, default, ""))
        names.append(entry.parameters[-1].names[0])
    entry.expression = f"self.{entry.declared}({', '.join(names)})"


def signature(name, entry, spread):
    """The text of one overload, as Python would say it. Other names of arguments follow, by keyword only, each with the
    default `...`; what has other names may be left out, and what stands behind that."""
    parts = [] if "static" in entry.flags else ["self"]
    if "either" in entry.flags:
        parts = [f"self: {STARRED['tensors'][0]}"]
    others, starred = [], False
    for parameter in entry.parameters:
        first, *more = parameter.names
        if parameter.star and spread:
            each = STARRED[parameter.type][0] if parameter.star == "*" else sig_type(parameter.type)
            parts.append(f"{parameter.star}{first}: {each}")
            starred = True
            continue
        default = parameter.default
        if default is None and (more or any(" = " in part for part in parts)):
            default = "..."
        parts.append(f"{first}: {sig_type(parameter.type)}" + (f" = {default}" if default else ""))
        others += [f"{other}: {sig_type(parameter.type)} = ..." for other in more]
    if others and not starred:
        parts.append("*")
    return f"def {name}({', '.join(parts + others)}) -> {entry.returns}"


def prelude(entry, spread):
    lines = []
    for parameter in entry.parameters:
        if parameter.star == "*" and spread:
            if "either" in entry.flags:
                lines.append("std::optional<i64> axis = given_axis;")
                lines.append(f"const std::vector<Tensor> {parameter.names[0]} = "
                             f"joined_tensors(given_self, {parameter.names[0]}_given, &axis);")
            else:
                lines.append(STARRED[parameter.type][1].format(parameter.names[0]))
    names = [parameter.names[0] for parameter in entry.parameters]
    if names[-3:] == ["dtype", "device", "requires_grad"]:
        lines.append("const TensorOptions options = options_of(dtype, device, requires_grad);")
    if "inplace" in entry.flags:
        lines.append("Tensor& self = as_tensor(given_self);")
    return lines


def function(entry, spread):
    """The lambda of one overload."""
    takes = []
    if "static" not in entry.flags:
        takes.append("nb::handle given_self" if entry.flags & {"inplace", "either"} else "const Tensor& self")
    for parameter in entry.parameters:
        if parameter.star and spread:
            suffix = "_given" if parameter.star == "*" else ""
            takes.append(f"const nb::{'args' if parameter.star == '*' else 'kwargs'}& {parameter.names[0]}{suffix}")
        else:
            moves = "either" in entry.flags and parameter.names[0] == "axis"
            takes.append(f"{cxx_type(parameter.type)} {'given_' if moves else ''}{parameter.names[0]}")
    expression = entry.expression.strip()
    end = f"return {expression};"
    if "inplace" in entry.flags:
        end = f"{expression}; return nb::borrow(given_self);"
    return f"[]({', '.join(takes)}) {{ {' '.join([*prelude(entry, spread), end])} }}"


def annotations(entry, spread):
    parts = []
    for parameter in entry.parameters:
        spelled = f'nb::arg("{parameter.names[0]}")'
        if parameter.star and spread:
            parts.append(spelled)
            continue
        if takes_none(parameter.type):
            spelled += ".none()"
        if parameter.default is not None:
            spelled += f" = {CONSTANTS.get(parameter.default, parameter.default)}"
        parts.append(spelled)
    if "gil" in entry.flags:
        parts.append("nb::call_guard<Unlocked>()")
    return parts


def overloads(entry):
    """Whether * stays, in each overload: f(2, 3) and f(shape=(2, 3))."""
    if not any(parameter.star == "*" for parameter in entry.parameters) or "either" in entry.flags:
        return (True,)
    if any(parameter.type == "values" or parameter.star == "**" for parameter in entry.parameters):
        return (True,)
    return (True, False)


READERS = {"tensor": "reads_tensor", "tensors": "reads_tensors", "object": "reads_all", "bytes": "reads_all"}


def reader(parameter):
    """The expression that checks whether nanobind would take an argument."""
    base = parameter.type.rstrip("?")
    if parameter.star:
        return "reads_all"
    if parameter.type == "tensor?":
        return "reads<MaybeTensor>"
    if base in READERS:
        return READERS[base]
    plain = TYPES[base][0].removeprefix("const ").removesuffix("&")
    return f"{'reads_or_none' if takes_none(parameter.type) else 'reads'}<{plain}>"


def described(entry):
    """The table of an entry's parameters."""
    rows = []
    for parameter in entry.parameters:
        if parameter.star == "**":
            continue
        required = "false" if parameter.star or parameter.default is not None else "true"
        expected = STARRED[parameter.type][0] if parameter.star else sig_type(parameter.type)
        rows.append(f'{{"{"|".join(parameter.names)}", "{expected}", &{reader(parameter)}, {required}, '
                    f'{"true" if parameter.star else "false"}}}')
    return rows


def definitions(entry):
    """Each name with its overloads, put behind a function that knows the other names of the parameters."""
    define = "def_static" if "static" in entry.flags else "def"
    lines = ["  {"]
    for spread in overloads(entry):
        lines.append(f"    auto {'spread' if spread else 'plain'} = {function(entry, spread)};")
    rows = described(entry)
    has_table = not any(parameter.star == "**" for parameter in entry.parameters)
    if has_table:
        lines.append(f"    static constexpr Parameter kParameters[] = {{{', '.join(rows) or '{}'}}};")
    for name in entry.names:
        for number, spread in enumerate(overloads(entry)):
            parts = [f'"{name}"', "spread" if spread else "plain", *annotations(entry, spread),
                     f"nb::sig({literal(signature(name, entry, spread))})"]
            if number == 0:
                parts.append(literal(entry.docstring()))
            lines.append(f"    tensor.{define}({', '.join(parts)});")
        if has_table:
            lines.append(f'    spell(tensor, "{name}", {{kParameters, {len(rows)}}});')
    return [*lines, "  }"]


HEADER = """// Generated by python/surface/generate.py: see there.
#include "python/binding/function.h"
#include "python/binding/helpers.h"

namespace doorbell::python {
"""


def write_topic(path, topic, known, declared):
    bound = set()
    lines = [HEADER, f"void define_{topic}(TensorClass& tensor) {{"]
    for entry in known:
        complete(entry, declared)
        bound.add(entry.declared)
        lines += definitions(entry)
    missing = [name for name in declared if name not in bound and name not in LEFT_OUT]
    if missing:
        raise SystemExit(f"python/surface/{topic}.txt: no entry for {', '.join(missing)}")
    lines += ["}", "", "}  // namespace doorbell::python", ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def topic_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def main():
    tables, output, first, *rest = sys.argv[1:]
    if first == "-":
        topics = [topic_of(path) for path in rest]
        with open(output, "w", encoding="utf-8") as file:
            file.write(HEADER + "\n".join(f"void define_{topic}(TensorClass& tensor);" for topic in topics))
            file.write("\nvoid define_surface(TensorClass& tensor) {\n")
            file.write("\n".join(f"  define_{topic}(tensor);" for topic in topics))
            file.write("\n}\n\n}  // namespace doorbell::python\n")
        return
    declared = {}
    if rest[0] != "-":
        for declaration in declarations.read(os.path.join(tables, rest[0])):
            declared.setdefault(declaration.name, declaration)
    write_topic(output, topic_of(first), entries_of.read(first), declared)


if __name__ == "__main__":
    main()
