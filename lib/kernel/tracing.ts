import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { errorCode } from './error-code.ts'

/** A tracer of OpenTelemetry. It is not registered globally: libraries would put addresses of pages and texts of queries into spans. */
export interface Tracing {
  tracer: Tracer
  /** The context of a `traceparent` header (W3C Trace Context). */
  continued(traceparent: string): Context
}
let tracing: Tracing | undefined
const current = new AsyncLocalStorage<Context>()

/** Records spans from now on; `undefined` ends it. */
export function recordSpans(given: Tracing | undefined): void {
  tracing = given
}

/** The id of the running trace, for lines of the log. */
export function traceId(): string | undefined {
  const context = current.getStore()
  const span = context && trace.getSpanContext(context)
  return span && isSpanContextValid(span) ? span.traceId : undefined
}

/** Names, kinds and states; never ids of persons or agents, texts, addresses or values of statements. */
type SafeAttributes = Readonly<Record<`http.${string}` | `kp.${string}` | `db.${string}`, string | number>>

async function within<T>(
  name: string,
  { kind, attributes, parent }: { kind: SpanKind; attributes: SafeAttributes; parent: Context },
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const span = (tracing as Tracing).tracer.startSpan(name, { kind, attributes: attributes as Attributes }, parent)
  try {
    return await current.run(trace.setSpan(parent, span), () => run(span))
  } catch (error) {
    // The message may quote content.
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', errorCode(error) ?? (error instanceof Error ? error.name : 'unknown'))
    throw error
  } finally {
    span.end()
  }
}

/** Runs a request inside a span, which continues the trace of its client. */
export function traceRequest<T extends { status: number }>(
  name: string,
  attributes: SafeAttributes,
  traceparent: string | null,
  run: () => Promise<T>,
): Promise<T> {
  if (!tracing) return run()
  const parent = traceparent === null ? ROOT_CONTEXT : tracing.continued(traceparent)
  return within(name, { kind: SpanKind.SERVER, attributes, parent }, async (span) => {
    const answer = await run()
    span.setAttribute('http.response.status_code', answer.status)
    if (answer.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    return answer
  })
}

/** Runs a job inside a span of its own trace. */
export const traceJob = <T>(name: string, run: () => Promise<T>): Promise<T> =>
  tracing ? within(name, { kind: SpanKind.CONSUMER, attributes: { 'kp.job': name }, parent: ROOT_CONTEXT }, run) : run()

/** Runs a statement inside a span, if a request or job is traced. A statement without a name may contain values, so only its kind is said. */
export function traceStatement<T>(name: string | undefined, run: () => Promise<T>): Promise<T> {
  const parent = tracing && current.getStore()
  if (!parent) return run()
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': name ?? 'statement' }
  return within(name ?? 'statement', { kind: SpanKind.CLIENT, attributes, parent }, run)
}
