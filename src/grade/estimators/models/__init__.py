"""Networks over patterns and their likelihoods: one file per model, and their common parts."""
