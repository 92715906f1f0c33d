"""What names of columns and lines say of the unit of amounts, where that is none of a currency: thousands, millions."""

import re

# What a heading says of the unit of its amounts, where that is none of a currency.
IN_THOUSANDS = re.compile(
    r"(?i)\b(?:thousands?|tsd|tausend|milliers|miles de|migliaia|duizend(?:en)?|tusind|tusen|tys|millions?|mio|mln"
    r"|тыс|млн)\b"
    r"|\b(?:teur|tchf|lakhs?|lacs|crores?)\b|\(0{3}(?:'?s)?\)|[€$£]\s?0{3}|[x×]\s?1[.,' ]?000|[€$£][km]\b"
    r"|\bk[€$£]|[千万]元|千円|百万"
)
# A line that names no column must say it so: `All amounts in EUR thousands`.
IN_THOUSANDS_OF_LINE = re.compile(
    r"(?i)\b(?:in|en|em|i|w|v|в)(?: [a-z]{3})? (?:thousands?|000s|millions?|tausend|tsd|mio|milliers|migliaia|milioni"
    r"|milhares|duizend|duizenden|miljoen|tusen|tusental|tysiacach|tys|tisicich|lakhs?|lacs|crores?|тысячах|тыс"
    r"|млн)\b|\ben (?:miles|millones)\b|\b(?:teur|tchf|000s)\b|千円|千元|万元|百万"
)
