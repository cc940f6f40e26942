import { z } from 'zod'
import type { StoreState } from './store-state.ts'

/** The time limit of an analysis in milliseconds; after it, the response is sent without Presidio's results. */
const patience = 2_000
/** After `maxSilent` consecutive timeouts, Presidio is not called for `rest` milliseconds. */
const maxSilent = 3
const rest = 30_000

const Answer = z.array(
  z.object({ entity_type: z.string(), start: z.int().min(0), end: z.int().min(0), score: z.number() }),
)

/** An entity that Presidio found, in UTF-16 offsets. */
export interface PresidioEntity {
  entity: string
  start: number
  end: number
  score: number
}
export interface Presidio {
  /** `undefined` if it does not respond in time or its response is invalid. */
  recognise(text: string, language: string): Promise<PresidioEntity[] | undefined>
  state(): Promise<StoreState>
}

/** Converts offsets: Python counts code points, JavaScript UTF-16 units. */
function unitsAt(text: string): (point: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (point) => point
  const units: number[] = []
  let unit = 0
  for (const sign of text) {
    units.push(unit)
    unit += sign.length
  }
  return (point) => units[point] ?? text.length
}

/** A client of the Presidio analyzer (its HTTP API: `POST /analyze`, `GET /health`) at this address. */
export function openPresidio(url: string): Presidio {
  const base = url.replace(/\/$/, '')
  const ask = (path: string, options: RequestInit) =>
    fetch(`${base}${path}`, { ...options, redirect: 'error', signal: AbortSignal.timeout(patience) })

  let [silent, restingUntil] = [0, 0]
  return {
    async recognise(text, language) {
      if (performance.now() < restingUntil) return undefined
      try {
        const answer = await ask('/analyze', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ text, language }),
        })
        silent = 0
        if (!answer.ok) return undefined
        const parsed = Answer.safeParse(await answer.json())
        if (!parsed.success) return undefined
        const at = unitsAt(text)
        return parsed.data
          .map(({ entity_type: entity, start, end, score }) => ({ entity, start: at(start), end: at(end), score }))
          .filter(({ start, end }) => start < end && end <= text.length)
      } catch (error) {
        if (error instanceof DOMException && error.name === 'TimeoutError') silent += 1
        if (silent >= maxSilent) [silent, restingUntil] = [0, performance.now() + rest]
        // Without Presidio no names are found. The other results are still returned, with a note that it was missing.
        return undefined
      }
    },
    async state() {
      const began = performance.now()
      const answer = await ask('/health', {})
      await answer.body?.cancel()
      const latency = performance.now() - began
      return answer.ok ? { state: 'ok', latency } : { state: 'down', latency, detail: `answers ${answer.status}` }
    },
  }
}
