"""Corpora that experiments of several papers read."""

from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.experiments.experiment import Need

REUTERS21578 = Need(
    "reuters21578", "Reuters-21578: its reut2-*.sgm files, or its archive", r"reut", Reuters21578
)
