"""Results as pages: one self-contained HTML file that a reader opens without a network.

The package can be called: ``showthrough.report("run/")`` writes the page of a folder of results.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

from showthrough.errors import check_type

__all__ = [
    "report",
]


def report(folder: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> Path:
    """Write the page of a folder of results, whatever kind of result it is.

    Parameters
    ----------
    folder
        The folder that an audit, a protection, a publication, a check, a comparison, an attack or
        advice was written to.
    path
        The HTML file to write; ``report.html`` in the folder if none is given.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    RunError
        If the folder does not hold a result, or a file of it is missing or damaged.
    InputError
        If an argument has the wrong type, or the extra ``report`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "no"}, {"sex": "m", "ill": "yes"}], schema)
    >>> layout = st.Layout(schema, (st.make_table(schema, "sex*ill"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = st.run_audit([st.Area(layout.tabulate(people), people)], layout, f"{folder}/run")
    ...     st.report(run.folder).name
    'report.html'
    """
    check_type(folder, (str, os.PathLike), name="folder", remedy="give the path of a folder of results")
    if path is not None:
        check_type(path, (str, os.PathLike), name="path", remedy="give the path of the page to write")
    from showthrough.report.write import write_report

    return write_report(Path(folder), None if path is None else Path(path))


class _CallablePackage(ModuleType):
    """A package that is also a function, so that ``showthrough.report`` can be both."""

    def __call__(self, folder: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> Path:
        return report(folder, path)


_CallablePackage.__call__.__doc__ = report.__doc__
sys.modules[__name__].__class__ = _CallablePackage
