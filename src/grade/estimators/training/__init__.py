"""How networks are trained: the loop, held-out splits, checkpoints, devices."""
