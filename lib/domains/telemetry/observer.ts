import { z } from 'zod'
import type { Actor } from '#lib/kernel/context.ts'
import type { RawInput } from '#lib/kernel/operation.ts'
import type { EventSubject } from './rules.ts'

export type CaptureEvent = (name: string, properties: unknown, subject: EventSubject) => void

/** An event with its name and properties; telemetry drops those that it does not know. */
interface Offered {
  name: string
  properties: Record<string, unknown>
}
interface Answered {
  input: Pick<RawInput, 'body' | 'query'>
  body: unknown
}

const Listed = z.object({ data: z.array(z.unknown()) })
const searched =
  (of: string) =>
  (answered: Answered): Offered[] => {
    const { data } = Listed.parse(answered.body)
    const mode = answered.input.query.q === undefined ? 'list' : 'words'
    return [{ name: 'search', properties: { of, mode, has_results: data.length > 0 } }]
  }
const Unit = z.object({ '@type': z.string(), metadata: z.object({ visibility: z.string() }) })
const unit = ({ input }: Answered): Offered[] => {
  const { '@type': type, metadata } = Unit.parse(input.body)
  const kind = type === 'ExpertSOP' ? 'sop' : 'unit'
  return [{ name: 'contribution', properties: { kind, visibility: metadata.visibility } }]
}
const Skill = z.object({ data: z.object({ visibility: z.string() }) })
const Export = z.object({ scope: z.string().default('all') }).prefault({})
const Request = z.object({ kinds: z.array(z.string()) })
const Entry = z.object({ data: z.object({ kind: z.string(), scope: z.string() }) })
const Exchange = z.object({ data: z.object({ redacted: z.record(z.string(), z.number()) }) })
const Share = z.object({ data: z.object({ removed: z.record(z.string(), z.number()) }) })

/** The events of completed operations, by operation id: words of closed lists, counts and booleans, never the input. */
const observed: Readonly<Record<string, (answered: Answered) => Offered[]>> = {
  contributeUnit: unit,
  contributeSop: unit,
  contributeSkill: ({ body }) => [
    { name: 'contribution', properties: { kind: 'skill', visibility: Skill.parse(body).data.visibility } },
  ],
  listUnits: searched('units'),
  listSops: searched('sops'),
  listSkills: searched('skills'),
  prepareExport: ({ input }) => [{ name: 'export_prepared', properties: { basis: Export.parse(input.body).scope } }],
  filePrivacyRequest: ({ input }) =>
    Request.parse(input.body).kinds.map((kind) => ({ name: 'request_filed', properties: { kind } })),
  addGrimoireEntry: ({ body }) => {
    const { kind, scope } = Entry.parse(body).data
    return [{ name: 'entry_written', properties: { kind, scope } }]
  },
  logLlmExchange: ({ body }) => [
    {
      name: 'exchange_logged',
      properties: { was_redacted: Object.keys(Exchange.parse(body).data.redacted).length > 0 },
    },
  ],
  makeSnapshot: () => [{ name: 'snapshot_made', properties: {} }],
  addCladeShare: ({ body }) => [
    { name: 'share_sent', properties: { was_stripped: Object.keys(Share.parse(body).data.removed).length > 0 } },
  ],
}

const toldOf = ({ kind, id, accountId }: Actor): EventSubject =>
  kind === 'agent' ? { kind, id } : accountId === undefined ? null : { kind: 'account', id: accountId }

/**
 * Sends an operation to telemetry after its transaction has committed. Errors here never reach the caller: an unexpected response is
 * offered without a name, so that it counts as dropped.
 */
export function observer(offer: CaptureEvent) {
  return (operationId: string, actor: Actor, answered: Answered): void => {
    const look = Object.hasOwn(observed, operationId) ? observed[operationId] : undefined
    if (!look) return
    const subject = toldOf(actor)
    try {
      for (const { name, properties } of look(answered)) offer(name, properties, subject)
    } catch {
      offer('', undefined, null)
    }
  }
}
