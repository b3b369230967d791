"""The words of published tables: labels of totals, names of columns that hold counts, marks, areas."""

from __future__ import annotations

import re

__all__ = [
    "AREA_NAMES",
    "MEASURE_NAMES",
    "TIME_NAMES",
    "is_count_name",
    "is_mark",
    "is_total_label",
    "is_weight_name",
    "may_be_count_name",
    "plain_name",
]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split("|"))


#: What offices call the sum over all categories, without regard to case.
TOTALS = _words(
    "_t|total|totals|total persons|grand total|overall|all|sum|subtotal|sub-total|both sexes|both genders",
    "insgesamt|gesamt|summe|zusammen|ensemble|total général|tous|toutes|totale|totaal|totalt|i alt|ialt|alle",
    "samtliga|yhteensä|kaikki|kokku|kopā|pavisam|iš viso|ogółem|razem|celkem|celkom|spolu|összesen",
    "mindösszesen|skupaj|ukupno|svega|total geral|ambos sexos|alls|samtals|всего|итого|всього|разом",
    "общо|вкупно|укупно|σύνολο|toplam|genel toplam|合計|総数|总计|合计|總計|합계|계|전체",
    "الإجمالي|المجموع|סך הכל|jumlah|tổng|tổng số|รวม",
)

#: "All ages", "Total population", "All categories: Age": totals with what they are totals of.
_TOTAL_OF = re.compile(
    r"(?:total|totals|grand total|insgesamt|gesamt|ensemble|totale|totaal|ogółem|celkem)\s*[:,–(/-].*"
    r"|total (?:population|persons|people|households|dwellings|respondents|pupils|students|all .*)"
    r"|all (?:ages|age groups|persons|people|sexes|genders|categories|households|dwellings|usual residents"
    r"|residents|areas|regions|ethnic groups|groups|races|pupils|students|origins|religions|occupations"
    r"|industries|types|values|levels|countries)\b.*"
)

#: Names that columns of counts have, and hardly any other.
COUNTS = _words(
    "count|counts|freq|freqs|frequency|frequencies|n|obsvalue|observation|anzahl|antal|aantal|effectif",
    "effectifs|nombre|conteo|cuenta|frecuencia|frequenza|liczba|anzahlpersonen|npersons|nperson|npeople",
    "nrecords|ncases|nobs|numobs|numberofpersons|numberofpeople|numberofhouseholds|numberofrecords",
    "numberofcases|headcount|popcount|ncount|cellcount|countvalue|countofpersons|personcount",
    "peoplecount|recordcount|häufigkeit|haeufigkeit|lukumäärä|pocet|antall",
)

#: Names that columns of counts may have, but columns of records as well.
MAYBE_COUNTS = _words(
    "value|values|val|total|totals|number|num|persons|person|people|population|pop|households|homes",
    "dwellings|individuals|cases|residents|pupils|students|patients|deaths|births|personen|einwohner",
    "bevölkerung|haushalte|personnes|habitants|personas|valor|valeur|wert|waarde|observations",
    "size|cnt|no|nr",
)

#: Names of columns that say how many people a record stands for.
WEIGHTS = re.compile(r"w|wt|wgt.*|weight.*|.*weights?|.*wgt|.*wt|wgtp|pwgtp|gewicht|hochrechnung.*|pond.*")

#: Names of dimensions that are areas.
AREA_NAMES = _words(
    "area|areas|areacode|areaname|areaid|geo|geography|geographycode|geographyname|geographicarea|geoid",
    "geocode|region|regions|regioncode|regionname|refarea|place|town|city|municipality|county|counties",
    "district|districts|block|tract|lsoa|msoa|lad|ward|parish|state|province|canton|kommune|gemeinde",
    "kreis|bundesland|land|commune|departement|département|comuna|municipio|provincia|comune|nuts",
    "gebiet|ort|localauthority|localauthoritycode|localauthorityname|school",
)

#: Names of dimensions that are times.
TIME_NAMES = _words(
    "time|timeperiod|year|years|period|date|quarter|month|jahr|année|annee|anno|año|ano|år|aar|jaar|rok",
    "vuosi|referenceyear|refyear|refperiod|referenceperiod|tid",
)

#: Names of dimensions whose categories are different figures rather than different records.
MEASURE_NAMES = _words(
    "variable|variables|indicator|indicators|indic|measure|measures|statistic|statistics|series|item|items",
    "characteristic|characteristics|unit|units|concept|metric|topic|contents|contentscode|merkmal|indicateur",
)

#: What stands in the place of a number that is not published.
_MARK = re.compile(
    r"[a-z*:#~†‡§-]|\*{1,3}|\.{1,3}|…|-{1,2}|–|—|n/?a|#n/?a|n\.a\.|nan|null|none|na|supp(?:ressed)?|conf(?:idential)?"
    r"|\[[a-z0-9 <>=]{1,12}\]|\([a-z*:.-]{1,3}\)|(?:<|≤|<=|&lt;|under |fewer than |less than )\s*[0-9]+"
    r"|[0-9]{1,3}\s*(?:-|–|to)\s*[0-9]{1,3}|not published|not shown|withheld|masked|x{1,2}|\$",
    re.IGNORECASE,
)


def plain_name(name: str) -> str:
    """A column's name without regard to case and to what stands between words.

    >>> plain_name("OBS_VALUE"), plain_name("Number of persons")
    ('obsvalue', 'numberofpersons')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def is_total_label(text: str) -> bool:
    """Whether a category's label says that it is the sum over all categories.

    >>> [is_total_label(text) for text in ("Total", "All ages", "_T", "Insgesamt", "All others")]
    [True, True, True, True, False]
    """
    plain = " ".join(text.casefold().split()).rstrip(".:")
    return plain in TOTALS or _TOTAL_OF.fullmatch(plain) is not None


def is_mark(text: str) -> bool:
    """Whether a text stands in the place of a number that is not published.

    >>> [is_mark(text) for text in ("c", "..", "<5", "[low]", "1-4", "Anna", "12")]
    [True, True, True, True, True, False, False]
    """
    return _MARK.fullmatch(text.strip()) is not None


def is_count_name(name: str) -> bool:
    """Whether a column of this name holds counts, and hardly anything else."""
    return plain_name(name) in COUNTS


def may_be_count_name(name: str) -> bool:
    """Whether a column of this name may hold counts."""
    return plain_name(name) in COUNTS | MAYBE_COUNTS


def is_weight_name(name: str) -> bool:
    """Whether a column of this name says how many people a record stands for."""
    return WEIGHTS.fullmatch(name.casefold()) is not None
