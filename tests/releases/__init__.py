"""What each release wrote: log records, snapshots, models, learners, scores. Later ones read it."""
