"""The numbers that pages print, and the pages that they count and that are not there."""

import re
from collections.abc import Iterator, Sequence

from stateward.pipelines.kit.pdf.pages import PAGES_MAX, PdfPage
from stateward.pipelines.kit.windows import windows

PAGE_OF = re.compile(
    r"\b(?:page|seite|blatt|página|pagina|pág\.?|pag\.?|sida|side|strona|strana|stránka|oldal|hoja|folio|sheet|blz\.?|bladzijde|sivu|sayfa)\W{0,3}"
    r"([0-9]{1,3}) ?(?:of|von|de|di|sur|av|af|z|van|/) ?([0-9]{1,3})\b",
    re.IGNORECASE,
)
_PAGE_ALONE = re.compile(
    r"\b(?:page|seite|blatt|página|pagina|sida|side|strona|strana|stránka|oldal|hoja|folio|sheet|blz\.?|bladzijde|sivu|sayfa)\W{0,3}([0-9]{1,3})\b"
    r"(?! ?(?:of|von|de|di|sur|av|af|z|van|/) ?[0-9])",
    re.IGNORECASE,
)

_NUMBER = re.compile("[0-9]+")  # the words before it are many, and are looked for only there
NUMBER_BEFORE, NUMBER_BEHIND = 16, 16  # characters of either pattern around a number of it

# Words at the foot of a page that say that the next one goes on; "see overleaf for our terms" says nothing of it.
_GOES_ON = re.compile(
    r"\bcontinue[sd] (?:overleaf|over the page|on (?:the )?(?:next|following|reverse)\b|on page [0-9])"
    r"|\bfortsetzung (?:auf (?:der )?(?:nächsten |folgenden )?(?:seite|rückseite|blatt)|nächste seite|folgt|umseitig)"
    r"|\bübertrag auf (?:blatt|seite|nächste)"
    r"|\bsuite (?:au verso|(?:en |à la )?page suivante)|\bcontinúa en (?:la )?(?:página siguiente|siguiente|hoja)"
    r"|\bcontinua (?:na|en la|alla|nella) p[áa]gina (?:seguinte|siguiente|successiva)|\bsegue a pagina\b"
    r"|\bvervolg op (?:de )?(?:volgende |achter|pagina|blad)",
    re.IGNORECASE,
)


def goes_on(page: PdfPage) -> bool:
    """Whether a page says that another one continues it."""
    return bool(_GOES_ON.search(" ".join(word.text for word in page.words)))


def missing_pages(pages: Sequence[PdfPage]) -> list[int]:
    """The pages of one document that are counted (`Page 2 of 3`) and not there."""
    return uncounted_pages([" ".join(word.text for word in page.words) for page in pages])


def tells_page(text: str) -> bool:
    """Whether a text tells the number of a page, with or without that of the last one."""
    return bool(PAGE_OF.search(text) or _PAGE_ALONE.search(text))


def uncounted_pages(texts: Sequence[str]) -> list[int]:
    """The same for the texts of pages. A page may print its number twice, above and below."""
    found = [
        (int(at), int(last))
        for text in texts
        for at, last in sorted({met.group(1, 2) for met in _matches(PAGE_OF, text)})
    ]
    if not found:
        return _skipped_pages([[met[1] for met in _matches(_PAGE_ALONE, text)] for text in texts])
    numbers = {at for at, _ in found}
    if len(numbers) != len(found) or len({last for _, last in found}) != 1:
        return []  # several documents, or a number that means something else
    # A page without a number that stands where one is missed is that page: some print it on the first one only.
    unnumbered = {at for at, text in enumerate(texts, start=1) if not tells_page(text)}
    return sorted(set(range(1, min(found[0][1], PAGES_MAX) + 1)) - numbers - unnumbered)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for first, last in windows(_NUMBER, text, before=NUMBER_BEFORE, behind=NUMBER_BEHIND):
        yield from pattern.finditer(text, first, last)


def _skipped_pages(printed: Sequence[Sequence[str]]) -> list[int]:
    """The pages that are left out where each page prints its number alone, and nothing says how many there are."""
    if len(printed) < 2 or any(len(each) != 1 for each in printed):
        return []
    counted = [int(each[0]) for each in printed]
    if counted != sorted(set(counted)):
        return []
    return sorted({*range(counted[0], counted[-1])} - {*counted})
