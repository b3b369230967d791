"""What this project uses of pandas: the name of its data frames, which results can be turned into.

pandas comes without a promise of types; to read them off its sources takes a type checker seconds.
"""

from typing import Any

class DataFrame:
    def __getattr__(self, name: str) -> Any: ...

class Series:
    def __getattr__(self, name: str) -> Any: ...
