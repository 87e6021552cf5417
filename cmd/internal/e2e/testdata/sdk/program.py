"""The reference's Python SDK against this service, as its users call it.

Each function below is one thing that must work; all of them run, and the program
fails if one does. The environment names the service and an API key of an owner:
AGENTA_HOST, AGENTA_API_KEY; SDK_PORT is the port on which the SDK serves an
application. make test-sdk runs it.
"""

import asyncio
import os
import threading
import time
import traceback
from uuid import uuid4

import agenta as ag
import httpx
import uvicorn
from agenta.sdk.evaluations import aevaluate
from agenta.sdk.managers import applications, evaluators, testsets
from agenta.sdk.managers.secrets import SecretsManager
from agenta.sdk.utils.client import authed_api

PORT = int(os.environ["SDK_PORT"])

ag.init()


def call(method, path, body=None):
    response = authed_api()(method=method, endpoint=path, json=body)
    assert response.status_code == 200, f"{method} {path}: {response.status_code} {response.text}"
    return response.json()


def until(holds, what):
    """Waits for what the SDK or the service does on its own, such as an export."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come")


def trace_of(trace_id):
    def look():
        trace = call("GET", f"/traces/{trace_id}").get("trace")
        return trace and trace.get("spans")

    return until(look, f"trace {trace_id}")


# --- instrument, store references, read back --------------------------------


@ag.instrument(spankind="task")
def capital(country):
    ag.tracing.store_meta({"step": "inner"})
    return {"country": country, "capital": "Lisbon"}


@ag.instrument(spankind="workflow")
def answer(country):
    ag.tracing.store_refs({"application.slug": "sdk-traced"})
    ag.tracing.store_session("sdk-session")
    return capital(country), ag.tracing.get_span_context().trace_id


def spans_are_read_back():
    _, number = answer("Portugal")
    trace_id = f"{number:032x}"
    spans = trace_of(trace_id)
    root = spans["answer"]
    assert root["attributes"]["ag"]["data"]["inputs"] == {"country": "Portugal"}, root
    assert root["attributes"]["ag"]["session"]["id"] == "sdk-session", root
    assert any(r.get("slug") == "sdk-traced" for r in root["references"]), root
    inner = root["spans"]["capital"]
    assert inner["attributes"]["ag"]["meta"]["step"] == "inner", inner
    assert inner["attributes"]["ag"]["data"]["outputs"]["capital"] == "Lisbon", inner

    body = {"filtering": {"conditions": [{"field": "references", "operator": "in", "value": [{"slug": "sdk-traced"}]}]}}
    assert any(t["trace_id"] == trace_id for t in call("POST", "/traces/query", body)["traces"])


# --- managers: by variant, by version, by environment -----------------------


def managers_commit_deploy_and_fetch():
    app = f"sdk-app-{uuid4().hex[:8]}"
    created = ag.AppManager.create(app_slug=app, template_key="SERVICE:completion")
    assert created.app_slug == app, created
    assert any(a.app_slug == app for a in ag.AppManager.list())
    first, second = {"prompt": {"temperature": 0.1}}, {"prompt": {"temperature": 0.9}}
    made = ag.VariantManager.create(app_slug=app, variant_slug="trial", parameters=first)
    version = int(made.variant_version)
    ag.VariantManager.commit(app_slug=app, variant_slug="trial", parameters=second)
    assert ag.ConfigManager.get_from_registry(app_slug=app, variant_slug="trial") == second
    assert ag.ConfigManager.get_from_registry(app_slug=app, variant_slug="trial", variant_version=version) == first
    history = ag.VariantManager.history(app_slug=app, variant_slug="trial")
    assert len(history) >= 2, history
    call("POST", "/simple/environments/", {"environment": {"slug": "production", "name": "production"}})
    ag.DeploymentManager.deploy(app_slug=app, variant_slug="trial", variant_version=version, environment_slug="production")
    assert ag.ConfigManager.get_from_registry(app_slug=app, environment_slug="production") == first
    ag.DeploymentManager.deploy(app_slug=app, variant_slug="trial", environment_slug="production")
    assert ag.ConfigManager.get_from_registry(app_slug=app, environment_slug="production") == second
    ag.VariantManager.delete(app_slug=app, variant_slug="trial")


# --- testsets ---------------------------------------------------------------


async def testsets_are_created_edited_and_listed():
    name = f"sdk-testset-{uuid4().hex[:8]}"
    rows = [{"topic": "a"}, {"topic": "b"}, {"topic": "b"}]
    made = await testsets.aupsert(name=name, data=rows)
    assert made.testset_id, made
    found = await testsets.aretrieve(testset_id=made.testset_id)
    assert [t.data for t in found.data.testcases] == rows, found
    await testsets.aedit(testset_id=made.testset_id, name=name, data=rows + [{"topic": "c"}])
    found = await testsets.aretrieve(testset_id=made.testset_id)
    assert [t.data["topic"] for t in found.data.testcases] == ["a", "b", "b", "c"], found
    earlier = await testsets.aretrieve(testset_revision_id=made.id)
    assert len(earlier.data.testcases) == 3, earlier
    assert any(t.testset_id == made.testset_id for t in await testsets.alist())


# --- an evaluation that the SDK runs ----------------------------------------


@ag.application()
def echo(topic: str = "") -> dict:
    return {"answer": topic}


@ag.evaluator()
def length(outputs=None, **kwargs) -> dict:
    return {"score": float(len((outputs or {}).get("answer", ""))), "success": True}


@ag.evaluator()
def matches(outputs=None, inputs=None, **kwargs) -> dict:
    same = (outputs or {}).get("answer") == (inputs or {}).get("topic")
    return {"score": 1.0 if same else 0.0, "success": same}


async def an_evaluation_ends_in_a_closed_run_of_status_success():
    testset = await testsets.aupsert(name=f"sdk-evaluated-{uuid4().hex[:8]}", data=[{"topic": "alpha"}, {"topic": "beta"}])
    result = await aevaluate(
        name="sdk evaluation", testsets={str(testset.id): "custom"}, applications=[echo], evaluators=[length, matches], repeats=2
    )
    assert len(result["scenarios"]) == 2, result
    run = call("GET", f"/evaluations/runs/{result['run'].id}")["run"]
    assert run["status"] == "success", run
    assert run["flags"]["is_closed"], run
    metrics = result["metrics"]["global"].data
    means = sorted(v["attributes.ag.data.outputs.score"]["mean"] for k, v in metrics.items() if k.startswith("evaluator-"))
    assert means == [1.0, 4.5], metrics
    found = call("POST", "/evaluations/results/query", {"result": {"run_id": str(result["run"].id)}})
    assert all(r["status"] == "success" for r in found["results"]), found
    # 2 rows, 2 repeats of an application and two evaluators, and the rows themselves.
    assert len(found["results"]) >= 2 * 2 * 3, found


async def entities_are_stored_once_under_their_slug():
    slug = f"sdk-upserted-{uuid4().hex[:8]}"
    first = await applications.aupsert(application_slug=slug, name="Upserted", handler=echo)
    second = await applications.aupsert(application_slug=slug, name="Upserted again", handler=echo)
    assert first and second and first != second, (first, second)
    found = await applications.aretrieve(application_revision_id=second)
    assert str(found.id) == str(second), found
    judge = await evaluators.aupsert(evaluator_slug=f"{slug}-judge", name="Judge", handler=length)
    found = await evaluators.aretrieve(evaluator_revision_id=judge)
    assert str(found.id) == str(judge), found


# --- secrets, and an application that the SDK serves ------------------------


@ag.route("/greet")
@ag.workflow()
async def greet(name: str = "") -> dict:
    settings = SecretsManager.get_provider_settings_from_workflow("gpt-4o-mini") or {}
    return {"greeting": f"hello {name}", "key": settings.get("api_key")}


def serve():
    server = uvicorn.Server(uvicorn.Config(ag.sdk.decorators.routing.default_app, host="127.0.0.1", port=PORT, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    until(lambda: server.started, "the server of the SDK")


def the_secrets_of_a_project_reach_an_sdk_hosted_workflow():
    created = ag.api.secrets.create_secret(
        header={"name": "openai"}, secret={"kind": "provider_key", "data": {"kind": "openai", "provider": {"key": "sk-of-the-project"}}}
    )
    assert any(s.id == created.id for s in ag.api.secrets.list_secrets())
    assert ag.api.secrets.read_secret(created.id).kind == "provider_key"
    served = httpx.post(
        f"http://127.0.0.1:{PORT}/greet/invoke",
        json={"data": {"inputs": {"name": "you"}}},
        headers={"Authorization": f"ApiKey {os.environ['AGENTA_API_KEY']}"},
        timeout=30,
    )
    assert served.status_code == 200, served.text
    outputs = served.json()["data"]["outputs"]
    assert outputs == {"greeting": "hello you", "key": "sk-of-the-project"}, outputs


def an_application_that_the_sdk_serves_runs_as_a_hook():
    slug = f"sdk-hook-{uuid4().hex[:8]}"
    data = {"uri": "agenta:custom:hook:v0", "url": f"http://127.0.0.1:{PORT}/greet"}
    call("POST", "/simple/applications/", {"application": {"slug": slug, "name": slug, "data": data}})
    body = {"references": {"application": {"slug": slug}}, "data": {"inputs": {"name": "there"}}}
    reply = call("POST", "/services/invoke", body)
    assert reply["data"]["outputs"]["greeting"] == "hello there", reply
    assert reply["data"]["outputs"]["key"] is None, "a hook may not read the secrets of the project"
    spans = trace_of(reply["trace_id"])
    assert slug in spans, spans.keys()
    text = str(until(lambda: (t := str(trace_of(reply["trace_id"]))) and "greet" in t and t, "the spans of the SDK's side"))
    assert "hello there" in text


def main():
    failed = []
    serve()
    for check in [
        spans_are_read_back,
        managers_commit_deploy_and_fetch,
        testsets_are_created_edited_and_listed,
        an_evaluation_ends_in_a_closed_run_of_status_success,
        entities_are_stored_once_under_their_slug,
        the_secrets_of_a_project_reach_an_sdk_hosted_workflow,
        an_application_that_the_sdk_serves_runs_as_a_hook,
    ]:
        began = time.monotonic()
        try:
            if asyncio.iscoroutinefunction(check):
                asyncio.run(check())
            else:
                check()
        except Exception:
            traceback.print_exc()
            failed.append(check.__name__)
            print(f"FAIL {check.__name__}", flush=True)
        else:
            print(f"ok   {check.__name__} {time.monotonic() - began:.1f}s", flush=True)
    if failed:
        raise SystemExit(f"{len(failed)} failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
