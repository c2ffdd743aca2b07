"""Run notebooks, and write them again with their current results.

`python -m tests.support.notebooks docs/guide/first-steps.ipynb` does the latter. What is stored has
no paths, times or versions of a machine in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat as nbformat_module
from nbclient import NotebookClient

nbformat: Any = nbformat_module  # its types are incomplete
TIMEOUT_SECONDS = 300
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run_notebook(path: Path) -> Any:  # noqa: ANN401 - nbformat has no types
    """Return the notebook with the results that its cells have now, run in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        if "outputs" in cell:
            cell.outputs = joined(cell.outputs)
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("image/svg+xml", None)
            if "data" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """Join what was written in one stream: how often the kernel sent it is a matter of timing."""
    kept: list[Any] = []
    for output in outputs:
        if kept and output.output_type == "stream" and output.get("name") == kept[-1].get("name"):
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def results(notebook: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the kind and text of all results; of a picture only that there is one."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                yield output.name, output.text
            for kind, value in sorted(output.get("data", {}).items()):
                is_text = kind.startswith("text/") and "image/png" not in output.data
                yield kind, value if is_text else ""


if __name__ == "__main__":
    for name in sys.argv[1:]:
        nbformat.write(run_notebook(Path(name)), name)
