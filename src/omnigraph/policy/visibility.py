"""What a reader gets to see: which types exist for them, and which properties are empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.display import Displayed

if TYPE_CHECKING:
    from omnigraph.policy.bundle import Rule


@dataclass(frozen=True, slots=True, repr=False)
class Visibility(Displayed):
    """A restriction of reading; having none is None. `types` is None when every type is visible."""

    types: frozenset[str] | None
    masked: frozenset[tuple[str, frozenset[str]]]

    def shows(self, type_name: str) -> bool:
        return self.types is None or type_name in self.types

    def masks(self) -> dict[str, frozenset[str]]:
        """Type name → the properties that are empty for this reader."""
        return dict(self.masked)


def visibility_of(rules: Iterable[Rule]) -> Visibility | None:
    """What several permissions show together: a type that any of them shows, a value that any of them leaves bare."""
    granted = list(rules)
    if any(rule.types is None for rule in granted):
        types = None
    else:
        types = frozenset(name for rule in granted for name in rule.types or ())
    masked = []
    for name in sorted({name for rule in granted for name in rule.mask}):
        showing = [rule for rule in granted if rule.types is None or name in rule.types]
        hidden = [frozenset(rule.mask.get(name, ())) for rule in showing]
        if hidden and (common := frozenset.intersection(*hidden)):
            masked.append((name, common))
    return None if types is None and not masked else Visibility(types, frozenset(masked))


NOTHING = Visibility(frozenset(), frozenset())
"""What an actor sees who may not read at all."""


def meet(first: Visibility | None, second: Visibility | None) -> Visibility | None:
    """What both of them show: a type that both show, a value that neither masks."""
    if first is None or second is None:
        return second if first is None else first
    shown = [each.types for each in (first, second) if each.types is not None]
    hidden, other = first.masks(), second.masks()
    masked = {
        name: hidden.get(name, frozenset()) | other.get(name, frozenset()) for name in hidden.keys() | other.keys()
    }
    return Visibility(frozenset.intersection(*shown) if shown else None, frozenset(masked.items()))


def shows_no_more(one: Visibility | None, than: Visibility | None) -> bool:
    """Whether everything that `one` shows is shown by `than` as well."""
    if than is None:
        return True
    if one is None or (one.types is None and than.types is not None):
        return False
    if one.types is not None and than.types is not None and not one.types <= than.types:
        return False
    hidden = one.masks()
    return all(masked <= hidden.get(name, frozenset()) for name, masked in than.masked if one.shows(name))
