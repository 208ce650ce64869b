"""What the stages of the pipeline need beside the algorithms: time, checks of the settings, counts, entries."""
