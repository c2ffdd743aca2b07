"""Results for people: the report, the comparison of lanes, plots and the loss table."""
