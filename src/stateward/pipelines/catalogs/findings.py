"""What is said of a catalogue: which rows are rejected and why, and which products a person should look at."""

from collections.abc import Iterator

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.catalogs.model import (
    ROLES,
    ParseSummary,
    PrintedProduct,
    Problem,
    ProductPlace,
    Rejection,
    notes_of,
)
from stateward.workers.sdk import Job, Outcome

# To be increased by a change after which the same observations give other products.
NORMALIZER_VERSION = 5
REJECTED_KEPT_MAX = 5_000
REJECTED_LOGGED_MAX = 2_000
ROWS_IN_FACTS_MAX = 200
LACKS = frozenset({"MISSING_SKU", "MISSING_TITLE", "MISSING_PRICE"})
SENTENCES = {
    "NO_PRODUCT": "the row has only {value}: it is a heading of those below it or a remark, and no product",
    "RAGGED_ROW": "the row has more cells than there are headings, so that its values may stand in wrong columns",
    "MISSING_SKU": "the SKU is missing",
    "DUPLICATE_SKU": "the SKU {value} is already that of row {row}",
    "PRICE_CONFLICT": "the SKU {value} is already that of row {row}, with another price; nothing tells which one holds",
    "DUPLICATE_VARIANT": "the variant {value} is already in row {row}",
    "ORPHAN_VARIANT": "no row before it gives the title of {value}",
    "MISSING_TITLE": "the title is missing",
    "MISSING_PRICE": "the price is missing",
    "UNPARSEABLE_PRICE": "{value} is no price",
    "NEGATIVE_PRICE": "the price {value} is negative",
    "UNKNOWN_CURRENCY": "{value} is no currency",
    "MISSING_CURRENCY": "the currency is missing, and other rows print theirs",
    "CURRENCY_CONFLICT": "the price and its currency disagree: {value}",
    "BAD_GTIN": "{value} is no GTIN: it has other characters than digits",
    "PLACEHOLDER_GTIN": "{value} is a placeholder and no GTIN",
    "BAD_GTIN_LENGTH": "{value} is no GTIN: one has 8, 12, 13 or 14 digits",
    "BAD_GTIN_CHECKSUM": "{value} is no GTIN: its last digit does not check the others",
    "GTIN_SCIENTIFIC": "{value} is what a spreadsheet left of a GTIN; format the column as text and export it again",
    "UNKNOWN_CATEGORY": "{value} is no category",
    "UNMAPPED_CATEGORY": "no rule maps the category {value}",
}

FLAGS = {
    "SHORT_ROW": "the row has fewer cells than there are headings",
    "MISSING_SKU": "the SKU is missing; the product is identified by its handle or number",
    "MISSING_CURRENCY": "no currency is printed; give the label currency or the setting catalogs.currency",
    "AMBIGUOUS_CURRENCY": "the sign of the price is that of several currencies; give the label currency",
    "AMBIGUOUS_PRICE": "the price can be read with either decimal sign; give the label decimal",
    "OTHER_DECIMAL_SIGN": "the price has another decimal sign than its file",
    "PRICE_RANGE": "a range is printed; the price is the lowest of it",
    "ZERO_PRICE": "the price is zero",
    "PRICE_ORDER": "the price and another price of the row are the other way round than in the other rows",
    "PRICE_NOT_OF_ONE": "the price is not that of one unit (see its quantity and factor), and is kept as printed",
    "OTHER_PRICE_UNREADABLE": "the sale or list price cannot be read, and is left out",
    "SALE_ABOVE_PRICE": "the sale price is higher than the price",
    "SALE_DATES_UNREADABLE": "the days of the sale cannot be read for sure, and are left out",
    "BARCODE_NO_GTIN": "the barcode is no GTIN, and is left out",
    "GTIN_ZERO_RESTORED": "the GTIN had lost the zero in front, and has it again",
    "DUPLICATE_GTIN": "another product has the same GTIN",
    "UNMAPPED_CATEGORY": "no rule maps the category; add one to the setting catalogs.categories",
    "PARENT_MISSING": "no row before it gives the product that it is a variant of, so that it inherits nothing",
    "AVAILABILITY_UNREADABLE": "the availability is no known one, and is left out",
    "STOCK_UNREADABLE": "the stock is no whole number, and is left out",
}


class Rejected(Exception):
    """A row is no valid product."""

    def __init__(self, code: str, value: str = "", row: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.value = value
        self.row = row


class Findings:
    """Collects them row by row, within limits."""

    def __init__(self, about: ParseSummary, rules: str) -> None:
        self._about = about
        self._rules = rules
        self._combinations: dict[tuple[str, ...], int] = {}
        self._first_places: dict[tuple[str, ...], ProductPlace] = {}
        self.unmapped: dict[str, int] = {}
        self.image_rows = 0
        self.rejected: list[Rejection] = []
        self.rejected_rows: dict[str, list[int]] = {}

    def count(self, flags: tuple[str, ...], where: ProductPlace) -> None:
        """Count the flags of a product."""
        # By combination: most products of a catalogue have the same flags.
        if flags not in self._combinations:
            self._combinations[flags] = 0
            self._first_places[flags] = where
        self._combinations[flags] += 1

    @property
    def _flag_counts(self) -> dict[str, tuple[int, ProductPlace]]:
        """How many products have each flag, and where the first of them stands."""
        found: dict[str, tuple[int, ProductPlace]] = {}
        for flags, number in self._combinations.items():
            where = self._first_places[flags]
            for flag in flags:
                count, first = found.get(flag, (0, where))
                found[flag] = count + number, min(first, where, key=lambda each: each.row)
        return found

    def reject(self, row: PrintedProduct, error: Rejected) -> None:
        """Note why a row is no product."""
        self.rejected_rows.setdefault(error.code, []).append(row.where.row)
        if len(self.rejected) < REJECTED_KEPT_MAX:
            value = f"{error.value.strip()[:100]!r}"
            message = SENTENCES[error.code].format(value=value, row=error.row)
            printed = row.price if error.code.endswith("_PRICE") else error.value
            self.rejected.append(
                Rejection(
                    code=error.code,
                    message=message,
                    where=row.where,
                    sku=row.sku.strip()[:200],
                    printed=printed[:200],
                )
            )

    def outcome(self, job: Job, count: int) -> Outcome:
        """Counts, notes and log of the whole catalogue."""
        rejected = sum(map(len, self.rejected_rows.values()))
        notes = notes_of([*self._about.problems, *self._problems()])
        counts = {code: len(rows) for code, rows in sorted(self.rejected_rows.items())}
        ranges = {code: row_ranges(rows) for code, rows in sorted(self.rejected_rows.items())}
        self._log(job, count, rejected, ranges)
        facts: Fields = {
            "products": count,
            "rejected": rejected,
            "rules": self._rules,
            "notes": list(notes),
        }
        if rejected:
            facts["reasons"] = dict(counts)
            facts["rejected_rows"] = {
                code: row_ranges(rows[:ROWS_IN_FACTS_MAX])
                for code, rows in sorted(self.rejected_rows.items())
            }
        about = {
            "normalizer": NORMALIZER_VERSION,
            "rules": self._rules,
            "products": count,
            "rejected_count": rejected,
            "reasons": counts,
            "rejected_rows": ranges,
            "rejected": msgspec.to_builtins(self.rejected),
            "image_rows": self.image_rows,
            "flags": {flag: number for flag, (number, _) in sorted(self._flag_counts.items())},
            "unmapped_categories": dict(sorted(self.unmapped.items())[:200]),
            "notes": notes,
        }
        return Outcome(facts=facts, about=about)

    def _problems(self) -> Iterator[Problem]:
        for each in self.rejected:
            yield Problem(each.code, each.message, each.where)
        for flag, (count, where) in sorted(self._flag_counts.items()):
            more = f" (and so of {count - 1} more products)" if count > 1 else ""
            yield Problem(flag, f"{FLAGS[flag]}{more}", where)

    def _log(self, job: Job, count: int, rejected: int, ranges: dict[str, str]) -> None:
        """One line for each rejected row; beyond the limit, the rows of each reason in one line."""
        for each in self.rejected[:REJECTED_LOGGED_MAX]:
            job.log(
                each.message,
                level="warning",
                code=each.code,
                row=each.where.row,
                sku=each.sku,
                line=each.where.line,
            )
        if rejected > REJECTED_LOGGED_MAX:
            for code, rows in ranges.items():
                job.log(f"all rows rejected with {code}", level="warning", code=code, rows=rows)
        job.log(
            f"{count} products by rules {self._rules}",
            rejected=rejected,
            image_rows=self.image_rows,
            flags={flag: number for flag, (number, _) in sorted(self._flag_counts.items())},
        )


def row_ranges(rows: list[int]) -> str:
    """Row numbers in few characters: `3, 7-9`."""
    parts: list[list[int]] = []
    for row in sorted(set(rows)):
        if parts and row == parts[-1][1] + 1:
            parts[-1][1] = row
        else:
            parts.append([row, row])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def lone_cell(row: PrintedProduct) -> str:
    """The only text of a row; "" if it has several."""
    told = [text for role in ROLES if (text := getattr(row, role).strip())]
    return told[0] if len(told) == 1 else ""
