"""Counting and drawing subgraphs: one file per method."""

from grade.sampling import ars, nrs, rand_esu, rand_fase, stratified  # each registers its sampler
from grade.sampling.base import Draw, Request, Sampler, samplers
from grade.sampling.draws import sample

__all__ = [
    "Draw",
    "Request",
    "Sampler",
    "ars",
    "nrs",
    "rand_esu",
    "rand_fase",
    "sample",
    "samplers",
    "stratified",
]
