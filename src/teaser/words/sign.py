"""A sign: what a word of degree or negation makes of the names that it counts for."""

from dataclasses import dataclass, replace
from typing import cast

from teaser.words.wish import Kind, Lasts, Wish

# Steps of a mention, by its degree: a bit, plain, much. The last is the bound of a tag.
SLIGHT, BARE, STRONG = 2, 4, 5


@dataclass(frozen=True)
class Sign:
    """What a word of degree or negation makes of the names that it counts for.

    Parameters
    ----------
    kind
        The kind of wish.
    steps
        The presses, for `press`.
    lasts
        Until when it counts.
    """

    kind: Kind
    steps: int = 0
    lasts: Lasts = "always"

    @property
    def negative(self) -> bool:
        """Whether less of something is wished."""
        return self.steps < 0 or self.kind in ("without", "never")

    @classmethod
    def parse(cls, key: str) -> "Sign | None":
        """Return the sign of a key of the lexicon; None for a bare mention.

        Examples
        --------
        >>> Sign.parse("never for week")
        Sign(kind='never', steps=0, lasts='week')
        """
        if key == "bare":
            return None
        if key in ("nor", "than"):
            return cls("without" if key == "nor" else "press", -BARE if key == "than" else 0)
        kind, _, rest = key.partition(" ")
        if kind == "press":
            return cls("press", int(rest))
        lasts = rest.removeprefix("for ") or "always"
        return cls(cast(Kind, kind), 0, cast(Lasts, lasts))

    def ending(self, lasts: Lasts) -> "Sign":
        """Return the same for a time: what is excluded for a time is hidden for it."""
        if self.kind == "without":
            return Sign("never", 0, lasts)
        return replace(self, lasts=lasts) if self.kind in ("press", "never") else self

    def wish(self, name: str, words: str) -> Wish:
        """Return the wish about a tag."""
        return Wish(self.kind, name, self.steps, lasts=self.lasts, words=words)
