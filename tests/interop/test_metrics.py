"""The reference parser of OpenMetrics reads what `/metrics` says."""

import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed

from programs import miniclaw, request, scripted_provider


def test_exposition_is_valid_open_metrics(tmp_path):
    with scripted_provider(tmp_path, [{"steps": [{"text": "Fine."}, {"finish": "stop"}]}] * 4) as provider:
        config = (
            "metrics: true\nfind_local_models: false\n"
            f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n"
        )
        with miniclaw(tmp_path, config) as address:
            request(f"{address}/api/chat", {"message": "hi"})
            with urllib.request.urlopen(f"{address}/metrics") as answer:
                assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
                text = answer.read().decode()
    families = {family.name: family for family in parsed(text)}
    kinds = {name: family.type for name, family in families.items()}
    assert kinds["miniclaw_http_requests"] == "counter"
    assert kinds["miniclaw_http_request_duration_seconds"] == "histogram"
    assert kinds["miniclaw_works_under_way"] == "gauge"
    assert families["miniclaw_fact_commit_seconds"].unit == "seconds"
    works = [sample.value for sample in families["miniclaw_works"].samples if sample.labels == {"outcome": "done"}]
    assert works == [1.0]
    tokens = {sample.labels["kind"] for sample in families["miniclaw_tokens"].samples if sample.labels["model"] == "mock"}
    assert tokens == {"input", "output", "cached"}
