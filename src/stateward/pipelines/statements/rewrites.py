"""The records of a table as most tables print them: each rewriting, in the order in which they are tried, and why."""

from stateward.pipelines.statements.day_parts import start_with_whole_days
from stateward.pipelines.statements.initial_marks import start_with_spelled_marks
from stateward.pipelines.statements.mended_letters import start_with_mended_letters
from stateward.pipelines.statements.rewritten_columns import (
    start_with_fees_booked,
    start_with_one_amount,
    start_with_one_decimal,
    start_with_solar_days,
)
from stateward.pipelines.statements.rivals import start_in_major_units
from stateward.pipelines.statements.serial_dates import dated_start

REWRITES = (
    (start_with_mended_letters, "letters were read as Latin-1 before the file was made"),
    (start_with_whole_days, "year, month and day stand in three columns"),
    (dated_start, "dates are numbers of days, as sheets store them"),
    (start_in_major_units, "by their headings, whole numbers are cents"),
    (start_with_one_amount, "columns that are called by a currency are the amounts in it"),
    (start_with_one_decimal, "amounts of some columns have a comma, those of others a point"),
    (start_with_solar_days, "dates are those of the Persian calendar"),
    (start_with_fees_booked, "a fee without another amount is what was booked"),
    (start_with_spelled_marks, "letters below a heading of two words are their initials"),
)
