"""A harness that damages whatever GraDE reads and misuses whatever it is told: `python -m tests.fuzz`."""
