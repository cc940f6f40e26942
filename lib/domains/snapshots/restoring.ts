import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '#lib/kernel/context.ts'
import { dataRegionForm } from '#lib/kernel/data-regions.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { parseJson } from '#lib/kernel/json.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { batched } from '#lib/kernel/use-case.ts'
import { restoreAgent } from './contract.ts'
import type { Restorer, SnapshotPorts } from './ports.ts'
import { restoreBytes, restoreLineBytes, stateTypes } from './rules.ts'
import type { StagedState, StateStore } from './state.ts'

/** Limits of one transaction: records, and bytes of their lines. */
const batchLimits = { records: 250, bytes: 4 * 1024 * 1024 }

/** Derives the id of a record in another agent: the same for every repetition. */
const namedIn = (from: string, into: string) => (id: string) =>
  from === into
    ? id
    : `${id.slice(0, id.indexOf('_'))}_${base62(createHash('sha256').update(`restore\n${from}\n${into}\n${id}`).digest().subarray(0, 16), 22)}`

const broken = (message: string) => invalid(['line'], message)

const Placed = z.object({ region: z.string().regex(dataRegionForm).nullish() })
/** @throws {Problem} `conflict` if the snapshot's agent has a region that the receiving agent is not bound to */
function refuseOutside(region: string | null, settings: unknown): void {
  const { data } = Placed.safeParse(settings)
  if (!data) throw broken('must contain a valid region for the agent')
  const { region: required = null } = data
  if (!isWithin(region, required))
    throw new Problem(
      'conflict',
      `The data of this snapshot must stay in the region ${required}, but the target agent has ${region === null ? 'no region' : `the region ${region}`}. Nothing was restored. Restore it into an agent of the region ${required}.`,
    )
}

/** The line format of a snapshot, as {@link contentOf} writes it. */
const Line = z.discriminatedUnion('part', [
  z.strictObject({ part: z.literal('agent'), record: z.looseObject({ id: z.string().min(1).max(64) }) }),
  z.strictObject({ part: z.enum(['agent_documents', 'keyrings', 'grimoire_entries']), record: z.unknown() }),
  z.strictObject({
    part: z.literal('state'),
    media_type: z.enum(stateTypes).optional(),
    data: z.base64().optional(),
  }),
  z.strictObject({ part: z.literal('end'), records: z.int().min(0) }),
])
type ContentLine = z.output<typeof Line> & { bytes: number }

/**
 * Splits chunks of any size into lines without their newlines. @throws Problem `too_large`, or `bad_request` when the
 * stream is cut off.
 */
async function* cut(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let begun: Uint8Array[] = []
  let begunBytes = 0
  let all = 0
  const whole = (last: Uint8Array): Buffer => {
    const line = Buffer.concat([...begun, last])
    begun = []
    begunBytes = 0
    return line
  }
  const pieces = source[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await pieces.next().catch((error: unknown) => {
        if (Problem.is(error)) throw error
        throw new Problem('bad_request', {
          detail: 'The snapshot file is incomplete. Download it again.',
          cause: error,
        })
      })
      if (done) break
      all += value.byteLength
      if (all > restoreBytes)
        throw new Problem(
          'too_large',
          `The snapshot file is larger than ${restoreBytes.toLocaleString('en')} bytes, which is the limit.`,
        )
      let from = 0
      for (let end = value.indexOf(10); end >= 0; end = value.indexOf(10, from)) {
        if (begunBytes + end - from > restoreLineBytes) break
        yield whole(value.subarray(from, end))
        from = end + 1
      }
      // Copy the chunk: the source may reuse its buffer for the next one.
      begun.push(value.slice(from))
      begunBytes += value.byteLength - from
      if (begunBytes > restoreLineBytes)
        throw new Problem(
          'too_large',
          `A line of the snapshot file is larger than ${restoreLineBytes.toLocaleString('en')} bytes, which is the limit.`,
        )
    }
    if (begunBytes > 0) yield whole(new Uint8Array())
  } finally {
    await pieces.return?.()
  }
}

/** Parses and validates the lines of a snapshot, holding one line in memory. @throws Problem `invalid` with the line number, from 1. */
async function* contentLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<ContentLine, undefined> {
  let number = 0
  for await (const bytes of cut(source)) {
    number += 1
    const { data, error } = Line.safeParse(parseJson(bytes))
    if (!data) {
      const [issue] = error.issues
      throw invalid(
        ['line', String(number), ...(issue?.path ?? []).map(String)],
        issue?.message ?? 'is not a line of a snapshot',
      )
    }
    yield { ...data, bytes: bytes.byteLength }
  }
}

/** One running restoration. */
function createRun(ports: SnapshotPorts, ctx: Context, agentId: string) {
  const { agents, restorers, restoreSettings } = ports
  const byPart = new Map(restorers.map((restorer) => [restorer.part, restorer]))
  const counts = { documents: 0, entries: 0, there: 0, ended: 0, state_bytes: 0, settings: false }
  let received = 0
  let waiting: { restorer: Restorer; record: unknown }[] = []
  let waitingBytes = 0
  let from = agentId

  async function flush(): Promise<void> {
    const batch = waiting
    waiting = []
    waitingBytes = 0
    if (batch.length === 0) return
    const goal = { agentId, now: ctx.now, named: namedIn(from, agentId) }
    const reported = await ctx.pipeline.transaction(async (tx) => {
      await agents.writable(tx, ctx.actor, agentId)
      const results = []
      for (const [restorer, items] of Map.groupBy(batch, (item) => item.restorer)) {
        const result = await restorer.restore(
          tx,
          goal,
          items.map(({ record }) => record),
        )
        results.push({ restorer, ...result, there: items.length - result.stored.length - result.ended })
      }
      await ctx.pipeline.auditWithin(
        tx,
        ...results.flatMap(({ restorer: { resourceType }, stored }) =>
          stored.map((resourceId) => ({
            action: 'create' as const,
            resourceType,
            resourceId,
            actorId: ctx.actor.id,
            at: ctx.now,
            ip: ctx.ip,
            details: { operation: restoreAgent.id, agent_id: agentId },
          })),
        ),
      )
      return results
    })
    for (const { restorer, stored, there, ended } of reported) {
      counts[restorer.part === 'agent_documents' ? 'documents' : 'entries'] += stored.length
      counts.there += there
      counts.ended += ended
    }
  }
  return {
    counts,
    flush,
    received: () => received,
    /** Handles the first line: the source agent and its settings. */
    async begin(line: ContentLine | undefined): Promise<void> {
      if (line?.part !== 'agent') throw broken('must begin with the part `agent`')
      from = line.record.id
      if ((await ports.erasedAgents(ctx.actor, [from])).length > 0)
        throw new Problem('erased', 'The agent of this snapshot was erased here. Nothing was restored.')
      // The same answer for erased agents and for agents that exist, so that nobody learns of an erasure.
      if (await ports.isOfOthers(ctx.actor, from))
        throw new Problem('not_found', 'This snapshot belongs to an agent that is not yours. Nothing was restored.')
      counts.settings = await ctx.pipeline.transaction(async (tx) => {
        const { region } = await agents.writable(tx, ctx.actor, agentId)
        refuseOutside(region, line.record)
        return restoreSettings(tx, agentId, line.record)
      })
    },
    async take({ part, record, bytes }: Extract<ContentLine, { record?: unknown }>): Promise<void> {
      received += 1
      const restorer = byPart.get(part)
      // Keyrings are not restored: records are restored under the agent's current keyring.
      if (!restorer) return
      waiting.push({ restorer, record })
      waitingBytes += bytes
      if (waiting.length >= batchLimits.records || waitingBytes >= batchLimits.bytes) await flush()
    },
  }
}

/** Adds the number of records that were stored before the error to the error. */
function withCounts(error: unknown, { documents, entries }: { documents: number; entries: number }): unknown {
  if (!Problem.is(error) || documents + entries === 0) return error
  const { code, detail, issues, headers, extensions, cause } = error
  return new Problem(code, {
    detail: `${detail ?? error.title} ${documents} documents and ${entries} entries were restored before this error and remain. Send the whole file again to restore the rest.`,
    extensions: { ...extensions, restored: { documents, entries } },
    headers,
    cause,
    ...(issues && { issues }),
  })
}

/** Restores the content of a snapshot that the owner's machine has opened, in one pass with one batch in memory. */
export const restoring = (ports: SnapshotPorts, states: StateStore) => ({
  restoreAgent: batched(restoreAgent, async (ctx, { params: { id: agentId }, upload }) => {
    // Checked before the first byte is read, and again with every write.
    await ctx.pipeline.transaction((tx) => ports.agents.writable(tx, ctx.actor, agentId))
    const run = createRun(ports, ctx, agentId)
    const lines = contentLines(upload.bytes)
    let staged: StagedState | undefined
    try {
      await run.begin((await lines.next()).value)
      /** The line that ended the state. */
      let after: ContentLine | undefined
      async function* stateOf() {
        for (;;) {
          const { done, value } = await lines.next()
          if (done) throw broken('is incomplete: the last line must be `end`')
          if (value.part !== 'state') {
            after = value
            return
          }
          if (value.data === undefined) throw broken('must contain only one state')
          yield Buffer.from(value.data, 'base64')
        }
      }
      for (;;) {
        const line: ContentLine | undefined = after ?? (await lines.next()).value
        after = undefined
        if (line === undefined) throw broken('is incomplete: the last line must be `end`')
        if (line.part === 'end') {
          if (line.records !== run.received())
            throw broken('states a number of records that differs from the number received')
          if (!(await lines.next()).done) throw broken('must not contain anything after `end`')
          break
        }
        if (line.part === 'agent') throw broken('must contain the part `agent` only once')
        if (line.part !== 'state') await run.take(line)
        else {
          const type = stateTypes.find((one) => one === line.media_type)
          if (staged || type === undefined || line.data !== undefined)
            throw broken('must contain only one state, and its type must come first')
          staged = await states.stage(agentId, type, stateOf())
        }
      }
      await run.flush()
      if (staged) {
        const state = staged
        // From here on, `states.keep` keeps or drops the state.
        staged = undefined
        await states.keep(ctx, agentId, state)
        run.counts.state_bytes = state.bytes
      }
    } catch (error) {
      throw withCounts(error, run.counts)
    } finally {
      await lines.return(undefined)
      if (staged) await states.drop(staged.objectKey)
    }
    const { settings, ...numbers } = run.counts
    return {
      resourceId: agentId,
      details: numbers,
      body: { data: { agent_id: agentId, ...numbers, settings } },
    }
  }),
})
