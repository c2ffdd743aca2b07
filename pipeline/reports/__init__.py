"""What a run leaves for people: report, comparison of lanes, plots and the loss table."""
