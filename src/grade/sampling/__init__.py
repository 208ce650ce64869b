"""Counting and drawing subgraphs: one file per method."""

from grade.sampling import ars, nrs, rand_esu, rand_fase, stratified  # each registers its sampler
from grade.sampling.draws import sample
from grade.sampling.sampler import Draw, Request, Sampler, samplers

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
