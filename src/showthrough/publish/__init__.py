"""Publish records with a randomized sensitive column, and say what a publication promises.

Everything a user needs is here.

>>> from showthrough.publish import RhoPrivacy
>>> round(RhoPrivacy(0.1, 0.5).retention(10), 3)
0.444
"""

from showthrough.publish.generalize import Generalization
from showthrough.publish.grouped import Anatomized, Sampled
from showthrough.publish.groups import Groups
from showthrough.publish.method import Partitioned, Uniform
from showthrough.publish.promise import LDiversity, ReconstructionPrivacy, RhoPrivacy
from showthrough.publish.publication import Publication
from showthrough.publish.publishing import publish

__all__ = [
    "Anatomized",
    "Generalization",
    "Groups",
    "LDiversity",
    "Partitioned",
    "Publication",
    "ReconstructionPrivacy",
    "RhoPrivacy",
    "Sampled",
    "Uniform",
    "publish",
]
