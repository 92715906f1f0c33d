"""Papers on the pages of the console: a fetched one is its document, and citations are saved under their endings."""

from pathlib import Path

from stateward.app import App, load_settings
from stateward.console import console
from stateward.pipelines.literature.sources import request_document
from tests import web
from tests.pipelines.literature.source_server import a_source_server
from tests.pipelines.literature.test_operating_long import configured
from tests.server.api_client import serving


def test_a_fetched_paper_is_shown_where_its_passages_point_to(tmp_path: Path) -> None:
    with a_source_server() as source:
        fetch = {"pubmed_url": f"{source.url}/eutils", "pause_seconds": 0, "allow": ["127.0.0.1"]}
        settings = load_settings(configured(tmp_path, literature={"fetch": fetch}))
        with App(settings) as app:
            record_id = app.submit(
                request_document("pmcid", "PMC9900010"),
                machine="literature",
                labels={"source_type": "pmc"},
            ).record.id
            app.run_until_idle()
    with serving(settings, extra_routes=console()) as api:
        document = web.get(f"{api.url}/console/records/{record_id}/document").text
        found = web.get(f"{api.url}/console/search?q=soup&pipeline=literature").text

    assert "-invented soups" in document
    assert "Document: text" in document
    assert "pmcid:PMC9900010" not in document
    for name in ("results.bib", "results.ris", "results.json"):
        assert f'download="{name}"' in found
