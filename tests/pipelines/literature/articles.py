"""Articles for these tests, written by hand after what publishers deliver."""

# ruff: noqa: E501 - XML as it is delivered has long lines

from pathlib import Path

from stateward.pipelines.literature.options import JobOptions
from stateward.pipelines.literature.paper import Block, Paper
from stateward.pipelines.literature.parse import read_paper

SAMPLES = Path(__file__).parents[3] / "src/stateward/pipelines/literature/samples"

# As PMC delivers an older article: NLM 2.x names, floats at the end, an abstract with sections.
PMC = """<!DOCTYPE article PUBLIC "-//NLM//DTD Journal Archiving DTD v2.3 20070202//EN" "archivearticle.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article"><front><journal-meta>
<journal-id journal-id-type="nlm-ta">Br J Samples</journal-id><journal-title>British Journal of Samples</journal-title>
<issn pub-type="ppub">0007-0001</issn></journal-meta><article-meta>
<article-id pub-id-type="pmid">99000010</article-id><article-id pub-id-type="pmc">9900010</article-id>
<article-id pub-id-type="doi">10.5555/SJ.2010.10</article-id>
<title-group><article-title>Salt &amp; sugar<xref ref-type="fn" rid="n1">*</xref> in &alpha;-invented soups</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>O&#x2019;Neill</surname><given-names>P J</given-names>
<suffix>Jr</suffix></name><xref ref-type="aff" rid="A1">1</xref></contrib>
<contrib contrib-type="author"><collab>SOUP Consortium<contrib-group><contrib contrib-type="author non-byline"><name>
<surname>Hidden</surname><given-names>M</given-names></name></contrib></contrib-group></collab></contrib>
<contrib contrib-type="editor"><name><surname>Editor</surname><given-names>E</given-names></name></contrib></contrib-group>
<aff id="A1"><sup>1</sup>Kitchen, Samples</aff>
<pub-date pub-type="epub"><day>2</day><month>11</month><year>2010</year></pub-date>
<pub-date pub-type="ppub"><month>1</month><year>2011</year></pub-date>
<permissions><copyright-year>2010</copyright-year></permissions>
<abstract><sec><title>Background:</title><p>Soup is salted.</p></sec><sec><title>Results:</title><p>It was good.</p></sec></abstract>
<abstract abstract-type="precis"><p>Short.</p></abstract></article-meta></front>
<body><!-- <sec><title>Never printed</title><p>Nor this.</p></sec> --><sec sec-type="intro"><title>Introduction</title>
<p>As <xref ref-type="bibr" rid="b1">Cook (2001)</xref> said<sup>2</sup>, x&#x2009;=&#x2009;<inline-formula><alternatives>
<tex-math id="M1">\\documentclass{minimal}\\begin{document}$x^2$\\end{document}</tex-math>
<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:mi>y</mml:mi></mml:math></alternatives></inline-formula>.</p>
<p>We <italic>tasted</italic>:<list><list-item><label>a</label><p>salt</p></list-item><list-item><label>b</label><p>sugar</p></list-item></list>and wrote it down.</p>
</sec></body><back><ack><title>Thanks</title><p>To the cooks.</p></ack><ref-list>
<ref id="b1"><citation citation-type="journal"><person-group person-group-type="author"><name><surname>Cook</surname>
<given-names>A</given-names></name></person-group><year>2001</year><article-title>Pots</article-title><source>Lids</source>
<volume>7</volume><fpage>1</fpage><lpage>9</lpage><pub-id pub-id-type="pmid">11111</pub-id></citation></ref>
<ref id="b2"><nlm-citation>Spoon B. A book. 1990.</nlm-citation></ref></ref-list></back>
<floats-group><table-wrap id="tbl1"><label>Table 1</label><caption><p>Grams</p></caption><table><tr><th>Soup</th><th>Salt</th></tr>
<tr><td>Pea</td><td>3.1</td></tr></table><table-wrap-foot><fn><p>Weighed twice.</p></fn></table-wrap-foot></table-wrap></floats-group>
</article>"""

RETRACTION = """<article article-type="retraction" xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>
<article-id pub-id-type="doi">10.5555/retraction.1</article-id><title-group><article-title>Retraction: Soup</article-title>
</title-group><related-article related-article-type="retracted-article" ext-link-type="doi" xlink:href="10.5555/SJ.2010.10"/>
</article-meta></front><body><p>The soup was bought.</p></body></article>"""

# As a journal with open review delivers one: the decision letter is a sub-article with titles and references of its own.
REVIEWED = """<article article-type="research-article"><front><article-meta><title-group><article-title>Ladles</article-title>
</title-group></article-meta></front><body><sec><title>Handles</title><p>Long.</p></sec></body><back><ref-list><title>References</title>
<ref id="r1"><mixed-citation>One. 10.5555/x</mixed-citation></ref></ref-list></back>
<sub-article article-type="decision-letter"><front-stub><title-group><article-title>Decision letter</article-title></title-group>
</front-stub><body><sec><title>Major points</title><p>Shorten the handle.</p></sec></body><back><ref-list><ref id="s1">
<mixed-citation>Two.</mixed-citation></ref></ref-list></back></sub-article></article>"""

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Ladles | Journal</title>
<meta name="citation_title" content="Ladles of the north"><meta name="citation_author" content="Spoon, Anna">
<meta name="citation_author_institution" content="Kitchen Institute"><meta name="citation_author_orcid" content="https://orcid.org/0000-0002-1825-0097">
<meta name="citation_author" content="Ben Fork"><meta name="citation_doi" content="doi:10.5555/ladle.7">
<meta name="citation_publication_date" content="2021/05/03"><meta name="citation_journal_title" content="Cutlery"></head>
<body><nav><ul><li>Home</li></ul></nav><main><article><h1>Ladles of the north</h1><section id="abs"><h2>Abstract</h2>
<p>They are long.</p></section><h2>1. Introduction</h2><p>Soup is <em>deep</em>.</p><h3>1.1 Pots</h3><p>Pots are deeper.</p>
<figure><img src="a.png"><figcaption>A ladle.</figcaption></figure><table><caption>Lengths</caption><tr><td>A</td><td>30</td></tr></table>
<h2>References</h2><ol class="references"><li>Cook A. Pots. <a href="https://doi.org/10.5555/pots">link</a></li><li>Spoon B.</li></ol>
</article></main><footer>Imprint</footer><script>var x = "<p>no</p>";</script></body></html>"""

TEXT = """Ladles of the south

doi: 10.5555/ladle.8

Abstract. They are short, and it is unknown why they were made
so short.

1 Introduction
Soup is shallow in the south. This para-
graph is broken over lines.

2 Results

They were short.

References
[1] Cook A. Pots. 1999. doi:10.5555/pots.
[2] Spoon B. Lids. 2000. PMID: 12345
"""


def read(folder: Path, data: str | bytes, name: str = "article.xml") -> Paper:
    """A paper from bytes."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_paper(path, JobOptions())


def texts(blocks: list[Block], kind: str, part: str = "") -> list[str]:
    """The texts of the blocks of a kind."""
    return [block.text for block in blocks if block.kind == kind and block.part == part]
