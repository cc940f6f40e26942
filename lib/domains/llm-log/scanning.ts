import { withoutPlaceholders } from '#lib/domains/pii/code-places.ts'
import type { SensitiveFinding, SensitiveKind } from '#lib/domains/pii/findings.ts'
import { numbering, redact } from '#lib/domains/pii/redaction.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { Problem } from '#lib/kernel/problem.ts'

export interface ScannedExchange<M extends { content: string }> {
  model?: string | undefined
  messages: readonly M[]
}
interface Blocked {
  kind: SensitiveKind
  /** Index of the message. Null for the model's name. */
  message: number | null
}
const isBlocked = ({ action }: SensitiveFinding): boolean => action === 'block'

/** Secrets in the joined messages, including secrets that are spread across several messages. */
function blockedIn(texts: readonly string[]): { kind: SensitiveKind; message: number }[] {
  const ends: number[] = []
  for (const text of texts) ends.push((ends.at(-1) ?? -1) + 1 + text.length)
  return scan(texts.join('\n'))
    .filter(isBlocked)
    .flatMap(({ kind, start, end }) =>
      texts.flatMap((text, message) => {
        const until = ends[message] ?? 0
        return start < until && end > until - text.length ? [{ kind, message }] : []
      }),
    )
}

/** Findings to redact in the model's name and in each message. */
interface Exposed {
  ofModel: readonly SensitiveFinding[]
  found: readonly (readonly SensitiveFinding[])[]
}
/**
 * Finds sensitive content in an exchange. @throws Problem `content_blocked` with kinds and places, when it contains a
 * secret that must not be stored
 */
export function exposedIn({ model, messages }: ScannedExchange<{ content: string }>): Exposed {
  const found = messages.map(({ content }) =>
    withoutPlaceholders(content, scan(content, { strategy: true, strategyRules: true })),
  )
  const ofModel = model === undefined ? [] : scan(model)
  const blocked: Blocked[] = [
    ...ofModel.filter(isBlocked).map(({ kind }) => ({ kind, message: null })),
    ...found.flatMap((findings, message) => findings.filter(isBlocked).map(({ kind }) => ({ kind, message }))),
    ...blockedIn(messages.map(({ content }) => content)),
  ]
  if (blocked.length > 0) throw refused(blocked)
  return { ofModel, found }
}

/**
 * The exchange without personal data and strategy details, with one number per value across all messages, and the
 * number of redactions by kind.
 */
export function without<M extends { content: string }>(
  { ofModel, found }: Exposed,
  { model, messages }: ScannedExchange<M>,
): ScannedExchange<M> & { redacted: Partial<Record<SensitiveKind, number>> } {
  const number = numbering()
  const redacted: Partial<Record<SensitiveKind, number>> = {}
  for (const { kind } of [...ofModel, ...found.flat()]) redacted[kind] = (redacted[kind] ?? 0) + 1
  return {
    model: model === undefined ? undefined : redact(model, ofModel, number).text,
    messages: messages.map((message, at) => ({ ...message, content: redact(message.content, found[at], number).text })),
    redacted,
  }
}

/** Maximum number of places that an error reports. */
const maxNamed = 50

function refused(blocked: readonly Blocked[]): Problem {
  const places = [...new Map(blocked.map((one) => [`${one.kind} ${one.message}`, one])).values()].slice(0, maxNamed)
  return new Problem('content_blocked', {
    detail: `The exchange contains data that must not be stored: ${[...new Set(places.map(({ kind }) => kind))].join(', ')}. Nothing was stored. Remove that data, then send the exchange again. A model has already received it, so replace any real secret.`,
    issues: places.map(({ kind, message }) => ({
      path: message === null ? ['model'] : ['messages', message, 'content'],
      message: `contains ${kind}`,
    })),
    extensions: { findings: places },
  })
}
