"""Runs a notebook without a kernel: each cell in turn, the value of its last line shown.

python tests/run_notebook.py docs/tour.ipynb     runs it, and writes what it shows into it
"""

import ast
import json
import os
import sys
from pathlib import Path


def run(path):
    """What each cell of code shows, by MIME type."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        return [
            show(execute("".join(cell["source"]), names))
            for cell in notebook["cells"]
            if cell["cell_type"] == "code"
        ]
    finally:
        os.chdir(here)


def execute(source, names):
    """The value of a cell's last line, or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


def show(value):
    """A value as a notebook shows it."""
    if value is None:
        return {}
    shown = {"text/plain": repr(value) if len(repr(value)) < 2000 else f"<{type(value).__name__}>"}
    for method, kind in (("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html")):
        if hasattr(value, method):
            shown[kind] = getattr(value, method)()
    return shown


def write(path):
    """Run a notebook, and keep its output in it, except frames, which no viewer keeps."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, shown) in enumerate(zip(cells, run(path), strict=True), start=1):
        shown.pop("text/html", None)
        data = {kind: text.splitlines(True) for kind, text in shown.items()}
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        cell["execution_count"] = number
        cell["outputs"] = [{**result, "data": data}] if data else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
