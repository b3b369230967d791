"""What a record can be: attributes with ordered values, and rules between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from showthrough.attribute import Attribute, listed
from showthrough.closure import Closure, bits, codes
from showthrough.errors import SchemaError, check_each, check_type, closest, shorten
from showthrough.hierarchy import Hierarchy, check_links, trim, with_levels
from showthrough.selection import Selection, SelectionLike
from showthrough.text import html_summary, join_clauses, several

__all__ = [
    "Attribute",
    "Rule",
    "Schema",
]


#: Attributes that a schema's repr lists.
N_SHOWN = 8


@dataclass(frozen=True)
class Rule:
    """A structural zero: every record that matches ``when`` matches ``then``.

    Parameters
    ----------
    when, then
        Selections, or what :meth:`Selection.of` makes one from: text or a mapping.
    both_ways
        Whether the converse holds too.

    Examples
    --------
    >>> print(Rule("size=1", "type=alone", both_ways=True))
    size=1 iff type=alone
    """

    when: Selection
    then: Selection
    both_ways: bool = False

    def __init__(self, when: SelectionLike, then: SelectionLike, both_ways: bool = False) -> None:
        object.__setattr__(self, "when", Selection.of(when))
        object.__setattr__(self, "then", Selection.of(then))
        object.__setattr__(self, "both_ways", both_ways)

    def __str__(self) -> str:
        return f"{self.when} {'iff' if self.both_ways else 'then'} {self.then}"


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in order, and the rules between them.

    Parameters
    ----------
    attributes
        The columns; ``Schema.of`` makes them from name → values.
    rules
        Which combinations of values cannot occur.
    record, records
        The words for one record and for several ("home", "homes").
    hierarchies
        Levels of attributes. Levels that are not among the attributes are added to them, and that each
        value lies in one of the level above is added to the rules.

    Raises
    ------
    SchemaError
        If there are no attributes, two of the same name, a rule about unknown values, or rules
        that no record can satisfy; or if a hierarchy does not fit the attributes.

    Examples
    --------
    >>> schema = Schema.of({"size": ["1", "2+"], "type": ["alone", "family"]},
    ...                    rules=[Rule("size=1", "type=alone")])
    >>> schema
    Schema of a record: 2 attributes, 1 rule
      size: 1, 2+
      type: alone, family
    >>> [str(box) for box in schema.forbidden]
    ['size=1,type=family']

    Hierarchies bring their levels and rules along:

    >>> groups = {"life": {"minor": ["0-9", "10-17"], "adult": ["18+"]}}
    >>> age = Hierarchy.by_groups("age", ["life", "age"], groups)
    >>> schema = Schema.of({"age": ["0-9", "10-17", "18+"]}, hierarchies=[age])
    >>> schema.names, str(schema.rules[0])
    (('life', 'age'), 'age=0-9|10-17 then life=minor')
    """

    attributes: tuple[Attribute, ...]
    rules: tuple[Rule, ...] = ()
    record: str = "record"
    records: str = ""
    hierarchies: tuple[Hierarchy, ...] = ()

    def __post_init__(self) -> None:
        check_each(self.attributes, Attribute, name="attributes", remedy="use Schema.of for name → values")
        check_each(self.rules, Rule, name="rules", remedy="write Rule('size=1', 'type=alone')")
        check_each(self.hierarchies, Hierarchy, name="hierarchies", remedy="make them with Hierarchy.of")
        object.__setattr__(self, "hierarchies", tuple(self.hierarchies))
        check_links(self.hierarchies)
        object.__setattr__(self, "attributes", with_levels(self.attributes, self.hierarchies))
        object.__setattr__(self, "rules", _with_level_rules(self.rules, self.hierarchies))
        object.__setattr__(self, "records", self.records or f"{self.record}s")
        if not self.attributes:
            raise SchemaError("the schema has no attributes", remedy="declare at least one")
        if len(self.index) != len(self.attributes):
            twice = next(n for n in self.names if self.names.count(n) > 1)
            raise SchemaError("an attribute is declared twice", column=twice)
        self._check_rules()

    @classmethod
    def of(
        cls,
        attributes: Mapping[str, Sequence[str]],
        *,
        rules: Iterable[Rule] = (),
        record: str = "record",
        hierarchies: Iterable[Hierarchy] = (),
    ) -> Schema:
        """From attribute → values, without labels."""
        check_type(attributes, Mapping, name="attributes", remedy="write {'sex': ['f', 'm']}")
        made = tuple(Attribute(name, values) for name, values in attributes.items())  # type: ignore[arg-type]
        return cls(made, tuple(rules), record, hierarchies=tuple(hierarchies))

    def __repr__(self) -> str:
        counted = f"{several(len(self.attributes), 'attribute')}, {several(len(self.own_rules), 'rule')}"
        if self.hierarchies:
            counted += f", hierarchies: {', '.join(one.name for one in self.hierarchies)}"
        lines = [f"  {shorten(one.name)}: {listed(one.values)}" for one in self.attributes[:N_SHOWN]]
        if (more := len(self.attributes) - N_SHOWN) > 0:
            lines.append(f"  … and {more:,} more")
        return "\n".join([f"Schema of a {self.record}: {counted}", *lines])

    def _repr_html_(self) -> str:
        """Attributes, values and rules, for notebooks."""
        rows = [[one.name, listed(one.values, 200)] for one in self.attributes[:50]]
        note = "; ".join(str(rule) for rule in self.own_rules[:20])
        title = f"Schema of a {self.record}"
        return html_summary(title, [["attribute", "values"], *rows], note=f"Rules: {note}" if note else "")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def index(self) -> dict[str, int]:
        """Attribute name → position."""
        return {attribute.name: at for at, attribute in enumerate(self.attributes)}

    @cached_property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules without those that say what lies in what."""
        implied = set(_level_rules(self.hierarchies))
        return tuple(rule for rule in self.rules if rule not in implied)

    @cached_property
    def finer(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        """Level above another → that finer one, and each value of it → the value that it lies in."""
        return {
            level: (hierarchy.levels[at + 1], hierarchy.parents[at])
            for hierarchy in self.hierarchies
            for at, level in enumerate(hierarchy.levels[:-1])
        }

    def below(self, name: str) -> tuple[str, ...]:
        """The levels that an attribute is made of, the finest last."""
        found: list[str] = []
        while name in self.finer:
            name = self.finer[name][0]
            found.append(name)
        return tuple(found)

    def base(self, name: str) -> str:
        """The finest level below an attribute, or the attribute itself."""
        return (name, *self.below(name))[-1]

    def trimmed(self, used: Collection[str]) -> Schema:
        """The schema without the finest levels that are not used, nor by its own rules.

        Every value of a level has some finer one in it, so without these the same follows about the others.
        A level with one value only stays.

        >>> place = Hierarchy.of("place", ["region", "district", "town"], {"t1": "d", "t2": "d", "d": "r"})
        >>> Schema.of({"town": ["t1", "t2"]}, hierarchies=[place]).trimmed({"region"}).names
        ('region', 'district')
        """
        used = {*used, *(one.name for one in self.attributes if len(one.values) == 1)}
        for rule in self.own_rules:
            used |= {*rule.when.attributes, *rule.then.attributes}
        left = trim(self.hierarchies, used)
        levels = {level for one in self.hierarchies for level in one.levels}
        gone = levels - {*used, *(level for one in left for level in one.levels)}
        kept = tuple(one for one in self.attributes if one.name not in gone)
        if left == [*self.hierarchies] or not kept:
            return self
        return Schema(kept, self.own_rules, self.record, self.records, tuple(left))

    def coarser(self, name: str) -> tuple[str, ...]:
        """The levels above an attribute, the nearest of each hierarchy first.

        >>> levels = Hierarchy.of("place", ["region", "town"], {"t1": "r", "t2": "r"})
        >>> Schema.of({"town": ["t1", "t2"]}, hierarchies=[levels]).coarser("town")
        ('region',)
        """
        direct = [level for level, (finer, _) in self.finer.items() if finer == name]
        return tuple(found for level in direct for found in (level, *self.coarser(level)))

    def inside(self, name: str, value: str) -> tuple[str, frozenset[str]]:
        """The finest level below an attribute, and the values of it that lie in a value.

        >>> levels = Hierarchy.of("place", ["region", "town"], {"t1": "r", "t2": "r"})
        >>> finest, towns = Schema.of({"town": ["t1", "t2"]}, hierarchies=[levels]).inside("region", "r")
        >>> finest, sorted(towns)
        ('town', ['t1', 't2'])
        """
        return self._inside[name][0], self._inside[name][1][value]

    @cached_property
    def _inside(self) -> dict[str, tuple[str, dict[str, frozenset[str]]]]:
        found: dict[str, tuple[str, dict[str, frozenset[str]]]] = {}
        for attribute in self.attributes:
            path, parents = [attribute.name], list[Mapping[str, str]]()
            while path[-1] in self.finer:
                level, of = self.finer[path[-1]]
                path.append(level)
                parents.append(of)
            groups: dict[str, set[str]] = {value: set() for value in attribute.values}
            for value in self[path[-1]].values:
                top = value
                for of in reversed(parents):
                    top = of[top]
                groups[top].add(value)
            found[attribute.name] = path[-1], {value: frozenset(under) for value, under in groups.items()}
        return found

    def __getitem__(self, name: str) -> Attribute:
        if name not in self.index:
            raise SchemaError("unknown attribute", found=name, remedy=closest(name, self.names))
        return self.attributes[self.index[name]]

    def check_selection(self, selection: Selection) -> Selection:
        """The selection without attributes it leaves free; an error for unknown names or values."""
        terms: list[tuple[str, tuple[str, ...]]] = []
        for name, values in selection.terms:
            attribute = self[name]
            for value in values:
                attribute.code(value)
            if len(values) < len(attribute.values):
                terms.append((name, values))
        return selection if len(terms) == len(selection.terms) else Selection(tuple(terms))

    def encode(self, selection: Selection) -> dict[int, frozenset[int]]:
        """Attribute position → allowed codes, for the attributes the selection restricts."""
        return {
            self.index[name]: frozenset(self[name].code(value) for value in values)
            for name, values in self.check_selection(selection).terms
        }

    @cached_property
    def forbidden(self) -> tuple[Selection, ...]:
        """The rules as selections that no record can match."""
        return tuple(dict.fromkeys(box for rule in self.rules for box in self._boxes(rule)))

    @cached_property
    def own_forbidden(self) -> tuple[Selection, ...]:
        """The same without what hierarchies say."""
        return tuple(dict.fromkeys(box for rule in self.own_rules for box in self._boxes(rule)))

    def _boxes(self, rule: Rule) -> list[Selection]:
        sides = [(rule.when, rule.then)] + ([(rule.then, rule.when)] if rule.both_ways else [])
        return [
            box
            for when, then in sides
            for name in then.attributes
            if (box := self._violation(when, name, then[name])) is not None
        ]

    def _violation(self, when: Selection, name: str, allowed: frozenset[str]) -> Selection | None:
        """Whoever matches ``when`` but has another value of ``name``; None if nobody can."""
        others = set(self[name].values) - allowed
        if name in when:
            others &= when[name]
        if not others:
            return None
        rest = tuple(term for term in when.terms if term[0] != name)
        return self.check_selection(Selection((*rest, (name, tuple(others)))))

    def _check_rules(self) -> None:
        for number, rule in enumerate(self.rules, 1):
            for selection in (rule.when, rule.then):
                try:
                    self.check_selection(selection)
                except SchemaError as error:
                    raise SchemaError(
                        f"rule {number} ({rule}): {error.problem}",
                        column=error.column,
                        found=error.found,
                        remedy=error.remedy,
                    ) from None
        if not self._some_record(self.forbidden):
            for number in range(1, len(self.rules) + 1):
                boxes = [box for rule in self.rules[:number] for box in self._boxes(rule)]
                if not self._some_record(boxes):
                    raise SchemaError(
                        f"rule {number} ({self.rules[number - 1]}) leaves no possible record",
                        remedy="correct or remove the rule",
                    )

    def _some_record(self, forbidden: Iterable[Selection]) -> bool:
        """Whether some record avoids all forbidden selections (depth first, attribute by attribute)."""
        boxes = [self.encode(box) for box in forbidden]
        used = sorted({at for box in boxes for at in box})

        def extend(depth: int, alive: list[dict[int, frozenset[int]]]) -> bool:
            if depth == len(used):
                return not alive
            at = used[depth]
            decided = used[: depth + 1]
            for code in range(len(self.attributes[at].values)):
                left = [box for box in alive if code in box.get(at, (code,))]
                if any(all(a in decided for a in box) for box in left):
                    continue
                if extend(depth + 1, left):
                    return True
            return False

        return extend(0, boxes)

    def describe(self, selection: Selection) -> str:
        """The selection as a clause: "tenure is rented and size is 1 or 2".

        What another part implies by the rules is not said again.

        >>> rule = Rule(Selection.of(size="1"), Selection.of(type="alone"))
        >>> schema = Schema.of({"size": ["1", "2", "3"], "type": ["alone", "family"],
        ...                     "tenure": ["owned", "rented"]}, rules=[rule])
        >>> schema.describe(Selection.parse("tenure=rented,type=alone,size=1|2"))
        'size is 1 or 2, type is alone and tenure is rented'
        >>> schema.describe(Selection.parse("tenure=rented,type=alone,size=1"))
        'size is 1 and tenure is rented'

        Values that together are one of a level above are called by that:

        >>> place = Hierarchy.of("place", ["district", "town"], {"t1": "d1", "t2": "d1", "t3": "d2"})
        >>> schema = Schema.of({"town": ["t1", "t2", "t3"]}, hierarchies=[place])
        >>> schema.describe(Selection.parse("town=t1|t2")), schema.describe(Selection.parse("town=t2|t3"))
        ('district is d1', 'town is t2 or t3')
        """
        chosen = [attribute for attribute in self.attributes if attribute.name in selection]
        allowed = [selection[attribute.name] for attribute in chosen]
        clauses = [
            self._phrase(attribute, values)
            for at, (attribute, values) in enumerate(zip(chosen, allowed, strict=True))
            if not any(
                self.implies(other.name, allowed[i], attribute.name, values)
                and (i < at or not self.implies(attribute.name, values, other.name, allowed[i]))
                for i, other in enumerate(chosen)
                if i != at
            )
        ]
        return join_clauses(list(dict.fromkeys(clauses)))

    def _phrase(self, attribute: Attribute, values: frozenset[str]) -> str:
        """A clause for some values of an attribute, by the level that needs the fewest names."""
        named, chosen = attribute, [value for value in attribute.values if value in values]
        if len(chosen) > 1 and self.hierarchies:
            below = frozenset[str]().union(*(self.inside(attribute.name, value)[1] for value in chosen))
            for level in map(self.__getitem__, self.coarser(attribute.name)):
                inside = {value: self.inside(level.name, value)[1] for value in level.values}
                whole = [value for value in level.values if inside[value] <= below]
                if len(whole) < len(chosen) and below == frozenset[str]().union(*(inside[v] for v in whole)):
                    named, chosen = level, whole
        return named.phrase(*chosen)

    def implies(self, name: str, values: frozenset[str], other: str, others: frozenset[str]) -> bool:
        """Whether, by the rules, one of these values of an attribute implies one of another's.

        >>> rule = Rule(Selection.of(size="1"), Selection.of(type="alone"))
        >>> schema = Schema.of({"size": ["1", "2"], "type": ["alone", "family"]}, rules=[rule])
        >>> one, alone = frozenset({"1"}), frozenset({"alone"})
        >>> schema.implies("size", one, "type", alone), schema.implies("type", alone, "size", one)
        (True, False)
        """
        key = name, values
        if key not in self._implied:
            self._implied[key] = self._consequences(name, values)
        return self._implied[key][self.index[other]] <= others

    @cached_property
    def _implied(self) -> dict[tuple[str, frozenset[str]], list[frozenset[str]]]:
        return {}

    def _consequences(self, name: str, values: frozenset[str]) -> list[frozenset[str]]:
        """The values each attribute may still have, as far as the rules tell one by one."""
        chosen = [code for value, code in self[name].codes.items() if value in values]
        left = self.closure.narrow(self.closure.only({self.index[name]: chosen}))
        return [
            frozenset(attribute.values[code] for code in codes(allowed))
            for attribute, allowed in zip(self.attributes, left, strict=True)
        ]

    @cached_property
    def closure(self) -> Closure:
        """What the rules imply, in codes."""
        boxes = [{at: bits(inside) for at, inside in self.encode(box).items()} for box in self.forbidden]
        return Closure(tuple(len(attribute.values) for attribute in self.attributes), tuple(boxes))

    def noun(self, count: int) -> str:
        """The word for this many records."""
        return self.record if count == 1 else self.records


def _with_level_rules(rules: Sequence[Rule], hierarchies: Sequence[Hierarchy]) -> tuple[Rule, ...]:
    """The rules, and those of the hierarchies that are not among them."""
    known = set(rules)
    return *rules, *(rule for rule in _level_rules(hierarchies) if rule not in known)


def _level_rules(hierarchies: Iterable[Hierarchy]) -> list[Rule]:
    """What lies in what, as rules."""
    return [
        Rule(Selection(((finer, values),)), Selection(((level, (group,)),)))
        for hierarchy in hierarchies
        for finer, level, group, values in hierarchy.chains()
    ]
