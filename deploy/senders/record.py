"""Records what an instrumentation sends: the bytes of its OTLP requests, one file each.

    record.py <sender> <folder>

Sender is openllmetry, openinference or langfuse, with the packages of
requirements.txt. A model server and a receiver run in this process; nothing leaves it.
write/normalize replays the files.
"""
import gzip
import http.server
import json
import os
import pathlib
import sys
import sysconfig
import threading

sender, folder = sys.argv[1], pathlib.Path(sys.argv[2])
bodies = []

USAGE = {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280,
         "prompt_tokens_details": {"cached_tokens": 1024}, "completion_tokens_details": {"reasoning_tokens": 40}}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/v1/traces"):
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            bodies.append(body)
            return self.answer(200, b"", "application/x-protobuf")
        asked = json.loads(body)
        if asked["model"] == "no-such-model":
            return self.reply(404, {"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}})
        if self.path.endswith("/embeddings"):
            return self.reply(200, {"object": "list", "model": "text-embedding-3-small", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
                                    "usage": {"prompt_tokens": 12, "total_tokens": 12}})
        self.reply(200, {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini-2024-07-18", "usage": USAGE,
                         "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is sunny in Lisbon."}}]})

    def reply(self, status, value):
        self.answer(status, json.dumps(value).encode(), "application/json")

    def answer(self, status, data, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = "http://127.0.0.1:%d" % server.server_port
os.environ["OTEL_SERVICE_NAME"] = "weather"

if sender == "langfuse":
    import langfuse
    client = langfuse.Langfuse(public_key="pk", secret_key="sk", host=base)
    from langfuse.openai import OpenAI
    flush = client.flush
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=base + "/v1/traces")))
    if sender == "openllmetry":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    else:
        from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    from openai import OpenAI
    flush = provider.force_flush

openai = OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
messages = [{"role": "system", "content": "You are a weather bot."}, {"role": "user", "content": "What is the weather in Lisbon?"}]
openai.chat.completions.create(model="gpt-4o-mini", messages=messages, temperature=0.2)
try:
    openai.chat.completions.create(model="no-such-model", messages=messages)
except Exception as e:
    print("expected:", type(e).__name__)
openai.embeddings.create(model="text-embedding-3-small", input="Lisbon weather")
flush()
folder.mkdir(parents=True, exist_ok=True)
packages = sysconfig.get_paths()["purelib"].encode()  # stack traces name it; a path of the same length keeps the encoding
for n, body in enumerate(bodies):
    body = body.replace(packages, b"/app".ljust(len(packages), b"/"))
    (folder / f"{sender}_{n}.binpb").write_bytes(body)
print(sender, [len(b) for b in bodies])
