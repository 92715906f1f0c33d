"""What a site puts around a text: its own name in the title, lists of who published it, bars of links and notices."""

import re
from collections.abc import Sequence
from html import unescape

# What a site calls every page of a kind. The title of such a page is its first heading.
GENERIC_TITLE = re.compile(
    r"communiqués?(?: de presse)?|press releases?|pressemitteilung(?:en)?"  # codespell:ignore presse
    r"|pressemeldung|meldung|aktuelles|news|newsroom"
    r"|actualités?|actus?|comunicad[oa]s?(?: de prensa)?|notas? de prensa|noticias?|comunicat[oi](?: stampa)?|notizie"
    r"|persbericht(?:en)?|nieuws(?:bericht)?|articles?|artikel|blog|posts?|home|homepage|accueil|startseite|inicio"
    r"|untitled(?: document)?|unbenanntes dokument|document sans nom|index|page",  # codespell:ignore dokument
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title\b[^<>]{0,200}>(.{1,600}?)</title", re.IGNORECASE | re.DOTALL)
_BETWEEN_PARTS = re.compile(r"\s+[-\u2013\u2014|·•:»«\u203a/]+\s+")
# Who is named beside such a word in a list of properties has published the page.
_LISTED = re.compile(
    r"<dt\b[^<>]{0,300}>\s*(?:from|authors?|published by|publisher|by|von|autor(?:in)?|herausgeber"  # codespell:ignore
    r"|veröffentlicht von|auteure?s?|publié par|autora?|publicado por|autore|pubblicato da|auteur)\s*(?::\s*)?</dt>"
    r"\s*<dd\b[^<>]{0,300}>(.{1,300}?)</dd>",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP = re.compile(r"<[^<>]{0,500}>")
AUTHOR_CHARS_MAX = 80
# The way to a page, and the notice of a site, as lines of their own.
_TRAIL = re.compile(
    r"(?:you are here|vous êtes ici|sie sind hier"  # codespell:ignore
    r"|usted está aquí|está usted en|ti trovi in|sei qui|u bent hier"
    r"|jesteś tutaj|du är här|du er her|você está aqui)\b.{0,200}",
    re.IGNORECASE,
)
_STEP = re.compile(r"\s[>\u203a»]\s")
STEPS_MIN, STEP_WORDS_MAX = 2, 6
_NOTICE = re.compile(
    r"(?:this (?:web)?site uses cookies|we use (?:some )?(?:essential )?cookies|ce site utilise des cookies"
    r"|diese (?:web)?seite verwendet cookies|wir verwenden cookies"
    r"|este sitio (?:web )?utiliza cookies"  # codespell:ignore
    r"|questo sito utilizza"
    r"|deze (?:web)?site gebruikt cookies|ta strona używa|den här webbplatsen använder)\b.{0,300}",
    re.IGNORECASE,
)
_LINKS = re.compile(
    r"(?:sitemap|site map|plan du site|mentions légales|impressum|datenschutz\w*|privacy(?: policy)?|cookies?"
    r"|aviso legal|mapa (?:del sitio|web)|note legali|terms(?: of (?:use|service))?|contact|kontakt|agb|colofon)",
    re.IGNORECASE,
)
# When a page was changed, as a line below its text: `Last updated on 3 May 2025`.
_UPDATED = re.compile(
    r"(?:this (?:page|article|document) was )?(?:last )?(?:updated|modified|edited|revised|reviewed|changed)\b"
    r"|(?:zuletzt|letzte) (?:aktualisiert|geändert|bearbeitet|änderung|aktualisierung)\b|stand\s?:"
    r"|dernière (?:mise à jour|modification)\b|mise? à jour\b|última (?:actualización|modificación)\b"
    r"|ultim[ao] (?:aggiornamento|modifica)\b|laatst (?:bijgewerkt|gewijzigd)\b|ostatnia aktualizacja\b",
    re.IGNORECASE,
)
_IN_SENTENCES = re.compile(r"(?<!\d)[.!?]\s+\S")
UPDATED_CHARS_MAX = 80
FRAME_LINES_MAX = 4  # at either end of a text


def heading_of_title(found: str, html: str, headings: Sequence[str], above: Sequence[str]) -> str:
    """The heading that a title names beside the site, where what was found is the site; "" if it is not.

    A title such as `Buzzing left channel - Repair Board` names both, and each may be a heading of the page: that of
    the text stands nearer to it. Where all that stands beside the site is a word such as `News`, the last heading
    above the text says more. A heading that the title does not name at all is not the one that it begins with.
    """
    told = _TITLE.search(html)
    parts = _BETWEEN_PARTS.split(_plain(told[1])) if told else []
    others = {_bare(part) for part in parts if _bare(part) != _bare(found)}
    if told and found in headings and _bare(found) not in (whole := _bare(_plain(told[1]))):
        # The first heading is that of the site or of its section, if the title begins with another one.
        first = [each for each in headings if each and whole.startswith(_bare(each))]
        return max(first, key=len, default="")
    if len(parts) < 2 or all(_bare(part) != _bare(found) for part in parts):
        return ""
    lines = [line for line in above if line in headings]
    if found in lines:  # what stands above the site's own heading is of the site, too
        lines = lines[lines.index(found) + 1 :]
    if named := [line for line in lines if _bare(line) in others]:
        return named[-1]
    is_site = found not in headings and all(
        GENERIC_TITLE.fullmatch(part.strip()) for part in parts if _bare(part) in others
    )
    telling = [line for line in lines if not GENERIC_TITLE.fullmatch(line)]
    return telling[-1] if is_site and telling else ""


def listed_author(html: str) -> str:
    """Who a list of properties says has published the page, where it names one."""
    names = {_plain(name) for name in _LISTED.findall(html)} - {""}
    name = names.pop() if len(names) == 1 else ""
    return name if len(name) <= AUTHOR_CHARS_MAX and not re.search(r"\d", name) else ""


def without_bars(lines: Sequence[str]) -> list[str]:
    """The lines of a text without the way to the page above it, and links and notices of the site below it."""
    kept = [*lines]
    for at in range(min(FRAME_LINES_MAX, len(kept)) - 1, -1, -1):
        if _is_bar(kept[at]) and len(kept) > 1:
            del kept[at]
    for at in range(len(kept) - 1, max(len(kept) - 1 - FRAME_LINES_MAX, 0), -1):
        if _is_bar(kept[at]) or _is_update(kept[at]):
            del kept[at]
    return kept


def _is_update(line: str) -> bool:
    """Whether a line says when the page was changed, and nothing else."""
    if len(line) > UPDATED_CHARS_MAX or not _UPDATED.match(line):
        return False
    return bool(re.search(r"\d", line)) and not _IN_SENTENCES.search(line)


def _is_bar(line: str) -> bool:
    if _TRAIL.fullmatch(line) or _NOTICE.fullmatch(line):
        return True
    steps = _STEP.split(line)
    if len(steps) > STEPS_MIN and all(len(step.split()) <= STEP_WORDS_MAX for step in steps):
        return not re.search(r"[.!?]$", line)
    links = [part.strip() for part in line.split("|")]
    return len(links) > 1 and 2 * sum(map(bool, map(_LINKS.fullmatch, links))) >= len(links)


def _plain(markup: str) -> str:
    return " ".join(unescape(_MARKUP.sub(" ", markup)).split())


def _bare(text: str) -> str:
    return "".join(text.casefold().split())
