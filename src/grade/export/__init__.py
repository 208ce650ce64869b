"""Patterns for use elsewhere: code, models, files of other graph tools. One file for each kind."""
