"""Count in a publication: estimate how many true records match a selection."""

from __future__ import annotations

import os

from showthrough.engine.backend import CountingPlace
from showthrough.errors import check_type
from showthrough.estimate import Estimate
from showthrough.microdata.publication import Publication
from showthrough.selection import SelectionLike

__all__ = [
    "count",
]


def count(
    publication: Publication | str | os.PathLike[str],
    where: SelectionLike = "",
    *,
    consistent: bool = False,
    weight: str | None = None,
    engine: CountingPlace = None,
) -> Estimate:
    """Estimate from a publication how many true records match.

    Parameters
    ----------
    publication : Publication or path
        A publication, or its folder.
    where : Selection, str or mapping
        Which records, for example ``"age=20-29,disease=flu|cold"``; by default all.
    consistent : bool
        Give an estimate that is never negative and never more than the number of records; the default is
        unbiased.
    weight : str, optional
        A public column of numbers: each record counts this many times.
    engine : Engine, optional
        Where rows are counted, if the publication is given by its folder; by default on this machine.

    Returns
    -------
    Estimate
        The value, its standard error, and with ``interval(0.95)`` a confidence interval that contains the
        true number at least as often as stated. Counts of public columns alone are exact. Of an anatomy the
        interval holds for certain, and the value rests on an assumption. Intervals allow for records that
        were left out of the publication; ``sentence()`` puts all of this into words.

    Raises
    ------
    InputError
        If this is not a publication, or the selection names an unknown column or value.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from showthrough.microdata.publish import publish
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> with TemporaryDirectory() as folder:
    ...     _ = publish(people, f"{folder}/public", sensitive="ill", retention=0.5, seed=2**90 + 7)
    ...     print(count(f"{folder}/public", "sex=f,ill=yes"))
    276 (238 to 315)
    """
    check_type(publication, (Publication, str, os.PathLike), name="publication", remedy="name its folder")
    opened = (
        publication if isinstance(publication, Publication) else Publication.open(publication, engine=engine)
    )
    return opened.count(where, consistent=consistent, weight=weight)
