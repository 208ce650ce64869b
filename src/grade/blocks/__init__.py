"""Repeated regions of any size: a grammar of a graph set, its blocks, and models written with them."""
