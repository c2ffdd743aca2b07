"""The programs of the comparison, and the sizes at which they are compared."""

from __future__ import annotations

from tests.bench.peers.corpus import Corpus
from tests.bench.peers.runner import Program


def wirerank(name: str, lanes: str, apart: bool = True) -> Program:
    """Wirerank with some lanes."""
    return Program(f"Wirerank {name}", "wirerank", {"lanes": lanes}, True, apart)


SOFT_AROW = wirerank("soft-arow", "soft-arow")
MMP = wirerank("mmp:loss=1", "mmp:loss=1")
DEFAULTS = wirerank("default lanes (three)", "defaults", apart=False)
OAA = Program("Vowpal Wabbit --multilabel_oaa", "vowpal_wabbit", {"reduction": "oaa"}, False, True)
PLT = Program("Vowpal Wabbit --plt", "vowpal_wabbit", {"reduction": "plt"}, False, True)
SCIKIT = Program("scikit-learn partial_fit", "scikit_learn")
FASTTEXT = Program("fastText, batch", "fasttext_model")
FROM_FILES = (
    SOFT_AROW,
    MMP,
    DEFAULTS,
    OAA,
    PLT,
    SCIKIT,
    FASTTEXT,
    Program("River LogisticRegression", "river_models", {"model": "logistic"}),
    Program("River Perceptron", "river_models", {"model": "perceptron"}),
)


def loop(client: str, model: str) -> Program:
    """A loop around a Kafka client."""
    what = "alone" if model == "none" else f"and Vowpal Wabbit --{model}"
    return Program(f"{client} {what}", "kafka_loop", {"client": client, "model": model})


ON_KAFKA = Program("Wirerank on Kafka, soft-arow", "wirerank_kafka", {"lanes": "soft-arow"}, True)
BARE_LOOP = loop("kafka-python", "none")
KAFKA = (
    ON_KAFKA,
    BARE_LOOP,
    loop("kafka-python", "plt"),
    loop("confluent-kafka", "none"),
    loop("confluent-kafka", "plt"),
)

SIZES = (Corpus(100, 10_000), Corpus(1_000, 4_000), Corpus(10_000, 1_500))
