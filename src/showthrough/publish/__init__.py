"""Publish records with a randomized sensitive column, and say what a publication promises."""
