"""Every function of Tensor that passes gradients has cases in conformance/data/edges.gz, or is excused here.

usage: edge_coverage.py SOURCE_ROOT
"""
import gzip
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "surface"))
import entries as entries_of  # noqa: E402

# The operation that calls a function, where it has another name.
OPERATIONS = {
    "at": "rows", "avg_pool2d": "avg_pool", "binary_crossentropy": "bce", "binary_crossentropy_logits": "bce_logits",
    "cast": "cast_back", "conv2d": "conv", "conv_transpose2d": "conv_transpose", "diagonal": "diagonal_of",
    "dropout": "dropout_off", "interpolate_by": "interpolate", "lerp": "lerp_quarter", "max_pool2d": "max_pool",
    "max_pool2d_with_indices": "max_pool_places", "max_unpool2d": "max_unpool", "qr": "qr_r",
    "scaled_dot_product_attention": "attention", "sort": "sort_values",
    "sparse_categorical_crossentropy": "sparse_cross_entropy", "where": "where_less", "dot": "matmul",
    "shrink": "slice", "set_at": "set",
}
# Another name of a function, or a cast.
SAME = set("clip swish t T view sequential bool_ short_ int_ long_ half bfloat16 float_ double_".split())
# No gradient flows through bits that get another dtype. Of all others flat() knows by their descriptions.
FLAT = {"bitcast"}
# What is made of numbers or of chance alone.
MADE = {"create.def"}
# Here gradients are those of a composition of many steps, which have no edges of their own.
COMPOSED = {"svd"}


def methods(folder):
    declared = re.compile(r"\b(?:Tensor|Picked|Pooled|QR|SVD|std::vector<Tensor>|std::pair<Tensor, Tensor>)\s+(\w+)\(")
    for file in sorted(folder.glob("*.def")):
        if file.name in MADE:
            continue
        text = re.sub(r"//.*", "", file.read_text())
        yield from declared.findall(text)


def flat(folder):
    """Functions whose results or operands are bools, integers or bits: no gradient flows."""
    for path in sorted(folder.glob("*.txt")):
        for entry in entries_of.read(path):
            if (re.match(r"bool|u?int", entry.notes.get("Dtype", "")) or "for floats" in entry.notes.get("Raises", "")
                    or "No gradient" in entry.docstring()):
                yield entry.declared


def operations(file):
    data = gzip.decompress(file.read_bytes())
    length = int.from_bytes(data[:8], "little")
    return {case["op"] for case in json.loads(data[8:8 + length])["cases"]}


def main():
    root = pathlib.Path(sys.argv[1])
    named = set(methods(root / "tensor/api/methods"))
    covered = operations(root / "conformance/data/edges.gz")
    excused = SAME | FLAT | COMPOSED
    described = set(flat(root / "python/surface"))
    missing = sorted(name for name in named - excused - described if OPERATIONS.get(name, name) not in covered)
    stale = sorted((excused | set(OPERATIONS)) - named - {"set_at"})
    for name in missing:
        print(f"{name} has no case in conformance/data/edges.gz: add some to generate_edges.py, or excuse it here; "
              "one that passes no gradient says so in python/surface")
    for name in stale:
        print(f"{__file__} names {name}, which Tensor lacks")
    print(f"{len(named)} functions, {len(missing)} without cases")
    return 1 if missing or stale or len(named) < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
