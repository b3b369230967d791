"""Rebuild what additive noise and noisy answers were meant to hide."""
