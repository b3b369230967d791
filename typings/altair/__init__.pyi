"""What this project uses of Altair: it gives its charts as Altair's, built from their specification.

Altair's own types are generated from a schema, tens of thousands of lines that nothing else here needs.
"""

from typing import Any, Self

class Chart:
    @classmethod
    def from_dict(cls, dct: dict[str, Any], validate: bool = ...) -> Self: ...
