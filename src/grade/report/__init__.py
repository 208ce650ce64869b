"""Showing what was found."""
