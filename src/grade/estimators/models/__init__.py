"""Networks over patterns and their likelihoods: one file per model, and what they share."""
