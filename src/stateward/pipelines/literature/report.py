"""`stateward eval literature`: an evaluation of a folder as tables, sentences and a document."""

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.literature.evaluate import FIELDS, JudgedPaper, evaluate
from stateward.pipelines.literature.retrieval import TUNED_ON, collection_in, judge

SHOWN_MAX = 40


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How exactly the papers of a folder are read."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds papers")
    result = evaluate(request.path, now=request.clock, tell=request.progress)
    total = result.total()
    ranking = None
    if (collection := collection_in(request.path)) is not None:
        queries = request.parameters.get("queries") or TUNED_ON
        ranking = judge(collection, queries=queries)
    sentences = [_sentence(one) for one in result.papers if not one.is_exact][:SHOWN_MAX]
    if result.no_truth:
        sentences.append(f"{len(result.no_truth)} files have no truth to compare with")
    if ranking is not None:
        sentences.append(
            f"ranking: nDCG@10 {ranking.ndcg_at_10:.3f} over {ranking.queries} queries in {ranking.documents} abstracts"
        )
    return EvaluationReport(
        document={
            "total": msgspec.to_builtins(total),
            "fields": {field: _count(result.papers, field) for field in FIELDS},
            "papers": msgspec.to_builtins(result.papers),
            "no_truth": result.no_truth,
            "ranking": msgspec.to_builtins(ranking),
        },
        tables=(
            Table(
                columns=("papers", "exact", "wrong in silence", "flagged", *FIELDS),
                rows=(
                    (
                        total.documents,
                        total.exact,
                        total.wrong_in_silence,
                        total.flagged,
                        *("/".join(map(str, _count(result.papers, field))) for field in FIELDS),
                    ),
                ),
            ),
        ),
        sentences=tuple(sentences),
        is_well=not total.wrong_in_silence,
    )


def _count(papers: list[JudgedPaper], field: str) -> tuple[int, int]:
    """How many have a field exact, of how many whose truth names it."""
    exact = sum(field in one.exact for one in papers)
    return exact, exact + sum(field in one.wrong for one in papers)


def _sentence(one: JudgedPaper) -> str:
    if one.failure:
        return f"{one.file}: {one.failure}"
    how = "wrong in silence" if one.is_silent else "not exact, and says so"
    return f"{one.file}: {how}; {', '.join(one.wrong)}"
