"""What this project uses of polars: the name of its data frames, which results can be turned into."""

from typing import Any

class DataFrame:
    def __getattr__(self, name: str) -> Any: ...
