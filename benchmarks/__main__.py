"""``python -m benchmarks NAME [options]`` runs one benchmark; without a name it lists them all."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path


def names() -> dict[str, str]:
    """Each benchmark, a module that can be run, with the first line of its docstring."""
    found: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        if any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in tree.body):
            found[file.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(arguments: list[str]) -> int:
    """Run the benchmark named first with the other arguments."""
    known = names()
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [options]\n")
        print("\n".join(f"  {name:<14} {text}" for name, text in known.items()))
        return 0
    name, *options = arguments
    if name not in known:
        print(f"there is no benchmark {name!r}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    return importlib.import_module(f"benchmarks.{name}").main(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
