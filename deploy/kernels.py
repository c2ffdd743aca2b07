"""Compile the kernels that workers need, so that a worker starts without compiling any.

An image and an installation run this file once, with nothing but the wheel. It runs commands on
small inputs, because numba compiles a kernel for the types that it is called with.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

from consumers.cli import new_app
from consumers.kafka.batch_decoder import COLUMNS, locate_records
from consumers.kafka.batch_encoder import warm_up_encoder
from learners.specs import parse_spec
from pipeline.engine.warmup import warm_up
from pipeline.text.markup import text_of
from pipeline.text.tokenizer import Tokenizer

LANES = (
    "mmp", "perceptron", "arow", "independent", "committee", "feature-focus", "frequency",
    "svm-map", "prank", "widrow-hoff", "multiclass-perceptron", "mmp:kernel=poly2",
    "prank:kernel=poly2", "mmp:shards=2,name=sharded", "rocchio", "soft-arow",
    "perceptron:assign=micro,risk=0.1,order=probability,name=assigning",
)  # fmt: skip
SHARDS = ("mmp", "perceptron:assign=micro,risk=0.1,order=probability", "arow", "soft-arow")
DOCUMENTS = (
    {"id": "1", "text": "<p>Wheat and <b>maïs</b></p>", "topics": ["grain"]},
    {"id": "2", "text": "Corn and oil"},
    {"id": "3", "features": {"oil": 1.0}, "topics": ["crude"]},
)


def compile_kernels(folder: Path) -> None:
    """Run what workers run: each kind of lane, shards, documents of each kind, records of Kafka."""
    documents, model = folder / "documents.jsonl", folder / "kernels.model"
    documents.write_text("".join(f"{json.dumps(document)}\n" for document in DOCUMENTS))
    lanes = [argument for lane in LANES for argument in ("--lane", lane)]
    run("bench", "--documents", "64", *lanes)
    run("replay", "synthetic:64", "--quiet", "--save", str(model))
    run("replay", str(documents), "--quiet")
    run("replay", "synthetic:64,classes=4", "--quiet", "--lane", "feature-focus")
    text_of(str(DOCUMENTS[0]["text"]))
    run("rank", str(model), str(documents), "--why", "--rankings", str(folder / "rankings.jsonl"))
    for lane in SHARDS:
        warm_up([parse_spec(lane)], Tokenizer(), lambda message: None, as_shards=True)
    warm_up_encoder()
    locate_records(np.frombuffer(b"", np.uint8), 0, 0, np.empty((0, COLUMNS), np.int64))


def run(*arguments: str) -> None:
    """Run a command of `wirerank` in this process, and end with its exit code if it fails."""
    code = new_app()(arguments, standalone_mode=False)
    if code:
        sys.exit(code)


def kernels() -> Iterator[tuple[str, Dispatcher]]:
    """All kernels of the modules that were imported."""
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in {"learners", "pipeline", "consumers"}:
            for attribute, value in vars(module).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                    yield f"{name}.{attribute}", value


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        compile_kernels(Path(temporary))
    every = dict(kernels())
    missing = [name for name, kernel in every.items() if not kernel.signatures]
    print(f"{len(every) - len(missing)} kernels compiled in {time.perf_counter() - started:.1f} s")
    print(f"compiled when they are needed: {', '.join(missing) or 'none'}")
