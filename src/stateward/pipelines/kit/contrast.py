"""Whether letters of a colour can be told from what lies behind them, by their contrast as WCAG 2 defines it.

White on white has a contrast of 1, black on white of 21. Yellow on white has 1.07, and the lightest grey that a letter
is printed in has more than 1.5. Nothing here knows a format.
"""

LOST_BELOW = (
    1.25  # a grey of 230 of 255 on white: letters of it are found only by who knows where they are
)
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
_LINEAR = [
    value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4
    for value in range(256)
]
_RED, _GREEN, _BLUE = 0.2126, 0.7152, 0.0722

Color = tuple[int, int, int]  # red, green, blue: 0 to 255


def luminance(color: Color) -> float:
    """How light a colour is, from 0 to 1."""
    red, green, blue = color
    return _RED * _LINEAR[red] + _GREEN * _LINEAR[green] + _BLUE * _LINEAR[blue]


def is_lost(color: Color, ground: Color = WHITE) -> bool:
    """Whether letters of a colour cannot be read on a ground."""
    low, high = sorted((luminance(color), luminance(ground)))
    return (high + 0.05) / (low + 0.05) < LOST_BELOW


def color_of(digits: str) -> Color | None:
    """The colour of six hexadecimal digits; None for what is none (`auto`)."""
    try:
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        return None
    return red, green, blue


def blend(front: Color, back: Color, share: float) -> Color:
    """The colour that a pattern looks like whose marks take a share of its ground."""
    red, green, blue = (
        round(over * share + under * (1 - share)) for over, under in zip(front, back, strict=True)
    )
    return red, green, blue
