"""The columns of the tables of topic ranking."""

from pipeline.experiments.tables import Column
from pipeline.experiments.topic_ranking.methods import IN_PERCENT, MEASURES

COLUMNS = (
    Column("loss1_percent", "loss1 %", 2, better=-1),
    Column("loss2", "loss2", 3, better=-1),
    Column("loss3_percent", "loss3 %", 3, better=-1),
    Column("one_error_percent", "OneErr %", 2, better=-1),
    Column("coverage", "Coverage", 3, better=-1),
    Column("average_precision", "AvgP", 4, better=1),
    Column("max_f1", "maxF1", 4, better=1),
)
OF_LOSSES, OF_RETRIEVAL = COLUMNS[:3], COLUMNS[3:]


def column_of(measure: str) -> str:
    """The key of the column that shows a measure."""
    return f"{measure}_percent" if measure in IN_PERCENT else measure


SHOWN_IN = {
    measure: column
    for measure in MEASURES
    for column in COLUMNS
    if column.key == column_of(measure)
}
