"""Runs pytest on files of this folder, or says what it lacks: run_pytest.py FILES... [ARGS of pytest].

Files whose name ends in `_torch.py` want PyTorch too. Exits 77, meson's word for skipped, where something is missing.
"""
import importlib.util
import os
import sys


def main():
    wanted = ["pytest", "numpy"]
    if any(path.endswith("_torch.py") for path in sys.argv[1:]):
        wanted.append("torch")
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        lists = "requirements-torch.txt" if missing == ["torch"] else "requirements.txt"
        print(f"SKIPPED: {sys.executable} has no {', '.join(missing)}: pip install -r python/{lists}, or scripts/test"
              f"{' --torch' if 'torch' in missing else ''}")
        return 77
    import pytest
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.dont_write_bytecode = True
    return pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
