"""Rebuild what additive noise and noisy answers were meant to hide.

Everything a user needs is here.

>>> from showthrough import attack
>>> attack.Uniform(60).variance
1200.0
"""

from showthrough.attack.advice import Advice, advise
from showthrough.attack.attacks import Attacked, run_attacks
from showthrough.attack.density import Distribution, Grid
from showthrough.attack.ellipsoid import Ellipsoids
from showthrough.attack.exposure import Exposure, Rate, expose
from showthrough.attack.given_noise import Sampled, Tabulated
from showthrough.attack.interquantile import PrivacyIntervals
from showthrough.attack.joint_noise import CorrelatedGaussian, Independent, correlated_like, perturb
from showthrough.attack.leaks import leaking_groups
from showthrough.attack.multivariate import JointReconstruction, reconstruct_joint
from showthrough.attack.noise import Gaussian, Laplace, Uniform, parse_noise
from showthrough.attack.pairs import Pair, compare_pairs
from showthrough.attack.posterior import posterior_intervals
from showthrough.attack.ratio import RatioAttack, ratio_attack, ratio_interval
from showthrough.attack.reconstruction import Reconstruction, reconstruct, reconstruct_columns
from showthrough.attack.spectral import Rebuilt, bayes_estimate, principal_components, spectral_filter
from showthrough.attack.stopping import Converged, Fixed, HeldOut
from showthrough.attack.trials import Trial, try_scales

__all__ = [
    "Advice",
    "Attacked",
    "Converged",
    "CorrelatedGaussian",
    "Distribution",
    "Ellipsoids",
    "Exposure",
    "Fixed",
    "Gaussian",
    "Grid",
    "HeldOut",
    "Independent",
    "JointReconstruction",
    "Laplace",
    "Pair",
    "PrivacyIntervals",
    "Rate",
    "RatioAttack",
    "Rebuilt",
    "Reconstruction",
    "Sampled",
    "Tabulated",
    "Trial",
    "Uniform",
    "advise",
    "bayes_estimate",
    "compare_pairs",
    "correlated_like",
    "expose",
    "leaking_groups",
    "parse_noise",
    "perturb",
    "posterior_intervals",
    "principal_components",
    "ratio_attack",
    "ratio_interval",
    "reconstruct",
    "reconstruct_columns",
    "reconstruct_joint",
    "run_attacks",
    "spectral_filter",
    "try_scales",
]
