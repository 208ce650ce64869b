"""Counting and drawing subgraphs: one file per method."""
