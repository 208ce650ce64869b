"""Exact counts of parts and of the sample, and their posterior: they wrap any estimator, and know no network."""
