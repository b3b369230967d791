"""Moved: import from showthrough.export."""

from showthrough.export import Tabular, html_table

__all__ = ["Tabular", "html_table"]
