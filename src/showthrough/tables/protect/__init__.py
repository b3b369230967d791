"""Protecting tables: the least to withhold, round or merge so that nothing forbidden follows."""
