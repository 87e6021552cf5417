// A small program instrumented with the OpenTelemetry SDK for Node.js: an
// agent that calls a tool and a model, traced once through each exporter. It
// prints the trace id of each as JSON; what the SDK complains of goes to stderr.
//
//   node program.mjs <base URL> <gRPC URL> <authorization>
import { DiagConsoleLogger, DiagLogLevel, SpanKind, SpanStatusCode, context, diag, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as GRPCExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JSONExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createRequire } from 'node:module';

const [base, grpcURL, authorization] = process.argv.slice(2);
const logger = new DiagConsoleLogger();
diag.setLogger({ ...logger, error: (...args) => console.error(...args), warn: (...args) => console.error(...args) }, DiagLogLevel.WARN);

const headers = { Authorization: authorization };
const url = `${base}/api/otlp/v1/traces`;
const require = createRequire(import.meta.url);
const { Metadata } = require('@grpc/grpc-js');
const metadata = new Metadata();
metadata.set('authorization', authorization);

const exporters = {
  // Receipts are JSON but for who asks otherwise, and this exporter warns of what it cannot read.
  proto: new ProtoExporter({ url, headers: { ...headers, Accept: 'application/x-protobuf' }, compression: 'gzip' }),
  json: new JSONExporter({ url, headers }),
  grpc: new GRPCExporter({ url: grpcURL, metadata }),
};

// agent is what a program would be instrumented to say, by the GenAI semantic conventions.
function agent(tracer, session) {
  const root = tracer.startSpan('invoke_agent weather', {
    kind: SpanKind.INTERNAL,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather', 'session.id': session },
  });
  const within = trace.setSpan(context.active(), root);

  const tool = tracer.startSpan('execute_tool forecast', { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'forecast' } }, within);
  tool.recordException(new RangeError('no forecast for Zürich'));
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'no forecast' });
  tool.end();

  const chat = tracer.startSpan('chat gpt-4o-mini', {
    kind: SpanKind.CLIENT,
    attributes: {
      'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini', 'gen_ai.request.temperature': 0.5,
      'gen_ai.response.model': 'gpt-4o-mini', 'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 500,
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Schneit es in Zürich? ❄' }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Nein.' }], finish_reason: 'stop' }]),
    },
  }, within);
  chat.end();
  root.end();
  return root.spanContext().traceId;
}

const traces = {};
for (const [name, exporter] of Object.entries(exporters)) {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `node-${name}` }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  traces[name] = agent(provider.getTracer('weather', '1.2.3'), `node ${name}`);
  await provider.forceFlush();
  await provider.shutdown();
}
console.log(JSON.stringify(traces));
