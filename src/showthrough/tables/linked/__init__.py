"""Nested areas: an area and its parts, each with tables, decided together."""
