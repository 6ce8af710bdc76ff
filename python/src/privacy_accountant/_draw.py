# SPDX-License-Identifier: Apache-2.0
"""What is drawn with matplotlib, where it is there: axes, and curves on them.

It looks as the daemon's pages and "accountctl plot" do: axes are named in words, lines have their
names at their ends instead of a legend, and no two lines differ by colour alone. The colours are
Okabe and Ito's, which people tell apart who see colours differently. They are chosen for light
ground, and lightened where the axes are dark, as in matplotlib's style dark_background."""

from __future__ import annotations

from typing import Any

LIGHT = {"text": "#1b1f24", "quiet": "#57606a", "grid": "#e4e7eb", "limit": "#b3261e", "reserved": "#8a6100",
         "lines": ("#0072b2", "#b34a00", "#00795a", "#a6447f")}
DARK = {"text": "#e8eaed", "quiet": "#a3abb5", "grid": "#2c3138", "limit": "#ff8a80", "reserved": "#e6b422",
        "lines": ("#56b4e9", "#ff9d5c", "#3ddbac", "#e9a1c9")}
DASHES: tuple[Any, ...] = ("-", (0, (7, 3)), (0, (2, 3)), (0, (9, 3, 2, 3)))

MEANS = {"descriptive": "This holds if the parameters and the number of steps were fixed before any result was seen.",
         "plan": "This holds for the whole plan, in any order and wherever it stops.",
         "filter": "This holds for the whole budget, also if parameters depended on outputs."}


def axes(ax: Any) -> Any:
    """ax, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        # it knows the figures that are to be shown; a Figure of its own is not among them
        from matplotlib import pyplot
    except ImportError as e:
        raise ImportError("plots need matplotlib: pip install matplotlib", name=e.name) from e
    return pyplot.subplots(figsize=(7, 4.2), layout="constrained")[1]


def inks(ax: Any) -> Any:
    """The colours for the ground of ax."""
    red, green, blue = ax.get_facecolor()[:3]
    return LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else DARK


def frame(ax: Any, title: str, subtitle: str, x: str, y: str) -> Any:
    """The title, what the numbers mean, and the names of both axes: that of the upright one stands above
    it, where it is read without turning one's head."""
    ink = inks(ax)
    ax.annotate(plain(y), (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=ink["text"])
    if subtitle:
        ax.annotate(plain(subtitle), (0, 1), (0, 24), xycoords="axes fraction", textcoords="offset points",
                    color=ink["quiet"], fontsize=9)
    ax.set_title(plain(title), loc="left", pad=40 if subtitle else 24, color=ink["text"], fontweight="bold")
    ax.set_xlabel(plain(x), loc="right", color=ink["text"])
    ax.tick_params(colors=ink["quiet"])
    ax.tick_params(which="minor", length=0)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=ink["grid"])
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(ink["quiet"])
    return ax


def line(ax: Any, x: Any, y: Any, name: str, nth: int = 0, compared: bool = False, **options: Any) -> None:
    """A line with its name at its end; one for comparison is grey and dashed."""
    ink = inks(ax)
    colour = ink["quiet"] if compared else ink["lines"][nth % len(ink["lines"])]
    dashes = (0, (4, 4)) if compared else DASHES[nth % len(DASHES)]
    ax.plot(x, y, color=colour, linestyle=dashes, linewidth=1.3 if compared else 2, label=plain(name), **options)
    ends = [(a, b) for a, b in zip(x, y) if b == b and abs(b) != float("inf") and (b > 0 or ax.get_yscale() != "log")]
    if ends:
        before = sum(1 for t in ax.texts if getattr(t, "names_line", None) == ends[-1])
        named = ax.annotate(plain(name), ends[-1], (8, 13 * before), textcoords="offset points", color=colour,
                            va="center", annotation_clip=False)
        named.names_line = ends[-1]


def limit(ax: Any, at: float, text: str) -> None:
    """The most that is allowed."""
    ink = inks(ax)
    ax.margins(y=0.1)  # the text stands above the line
    ax.axhline(at, color=ink["limit"], linestyle=(0, (8, 4)), linewidth=1.3)
    ax.annotate(plain(text), (0, at), (4, 4), xycoords=("axes fraction", "data"), textcoords="offset points",
                color=ink["limit"])


def plain(text: str) -> str:
    """Text that others wrote, as text: nothing of it is printed that steers, and "$" begins no formula."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")


def privacy_curve(ax: Any, epsilon: Any, delta: Any, delta_lower: Any, guarantee: str) -> Any:
    """δ against ε: the proven upper bound, and what no accountant can go below."""
    ax = axes(ax)
    ax.set_yscale("log")
    known = [(e, low, high) for e, low, high in zip(epsilon, delta_lower, delta) if low == low and low > 0]
    line(ax, epsilon, delta, "proven: δ at most")
    # beside the upper line a lower one is seen only if it is 5 % below
    if any(low < 0.95 * high for _, low, high in known):
        xs, lows, highs = zip(*known)
        ax.fill_between(xs, lows, highs, color=inks(ax)["lines"][0], alpha=0.16, linewidth=0)
        line(ax, xs, lows, "no accountant can prove less", compared=True)
    return frame(ax, "Privacy curve", MEANS.get(guarantee, guarantee), "privacy loss ε", "probability of failure δ")


def trade_off(ax: Any, alpha: Any, beta: Any, guarantee: str) -> Any:
    """The least type II error of a test for a record against its type I error."""
    ax = axes(ax)
    ax.fill_between(alpha, beta, color=inks(ax)["lines"][0], alpha=0.16, linewidth=0)
    line(ax, [0, 1], [1, 0], "guessing", compared=True)
    line(ax, alpha, beta, "the best test")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    return frame(ax, "How often an attacker errs about one record", MEANS.get(guarantee, guarantee),
                 "chance of a false alarm α", "chance of a miss β")
