import { setImmediate } from 'node:timers/promises'
import { batched } from '#lib/kernel/batched.ts'
import type { Context } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Importing } from '#lib/kernel/importer.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type ImportReport, importDocument } from './contract.ts'
import { createImportRun, type ImportPorts } from './import-run.ts'
import { importLimits } from './rules.ts'
import type { Piece } from './split.ts'
import { jsonSplitter } from './split-json.ts'
import { ndjsonSplitter } from './split-ndjson.ts'

/** How many milliseconds one import works before other requests get their turn. */
const turn = 20

/** Bytes around the unit in an exported record, and for the additional white space of an export. */
const wrapping = 64 * 1024

/**
 * Returns the importing agent, which must use a token.
 * @throws Problem `forbidden`
 */
function importingOf(ctx: Context): Importing {
  const [author] = ctx.actor.agents
  if (ctx.actor.kind !== 'agent' || author === undefined || ctx.actor.organisationId === undefined)
    throw new Problem(
      'forbidden',
      'Only an agent can import, with its token. The imported records belong to that agent.',
    )
  return { author, organisationId: ctx.actor.organisationId, ctx }
}

/**
 * Passes the bytes on and limits their number.
 * @throws Problem `too_large`
 */
async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength
      if (size > importLimits.bytes)
        throw new Problem(
          'too_large',
          `At most ${importLimits.bytes.toLocaleString('en')} bytes are accepted per import.`,
        )
      yield chunk
    }
  } catch (error) {
    if (Problem.is(error)) throw error
    throw new Problem('bad_request', {
      detail: 'The connection closed before the whole document arrived. Send it again.',
      cause: error,
    })
  }
}

/** Adds to the problem how many records were stored and remain. */
function withCounts(error: unknown, { received, stored, known, failed }: ImportReport): unknown {
  if (!Problem.is(error) || received === 0) return error
  const { code, detail, issues, headers, extensions, cause } = error
  return new Problem(code, {
    detail: `${detail ?? error.title} ${stored.toLocaleString('en')} of the ${received.toLocaleString('en')} received items were stored. Send the whole document again to store the rest.`,
    extensions: { ...extensions, import: { received, stored, known, failed } },
    ...{ headers, cause },
    ...(issues && { issues }),
  })
}

/** Maximum number of results in the stored response for idempotent repetition. */
const keptResults = 1_000

export const documentImport = (ports: ImportPorts) =>
  batched(
    importDocument,
    async (ctx, { upload }) => {
      const importing = importingOf(ctx)
      const run = createImportRun(ports, importing)
      const options = { recordBytes: 2 * ctx.actor.quota.unitBytes + wrapping, isWanted: run.isWanted }
      const splitter = upload.mediaType === 'application/json' ? jsonSplitter(options) : ndjsonSplitter(options)
      const read = async (): Promise<void> => {
        let began = performance.now()
        const take = async (pieces: readonly Piece[]): Promise<void> => {
          for (const piece of pieces) {
            await run.take(piece)
            if (performance.now() - began < turn) continue
            await setImmediate()
            began = performance.now()
          }
        }
        for await (const chunk of bounded(upload.bytes)) await take(splitter.feed(chunk))
        await take(splitter.end())
      }
      try {
        try {
          await read()
        } finally {
          await run.drain()
        }
        run.requireComplete()
      } catch (error) {
        throw withCounts(error, run.report())
      }
      const report = run.report()
      const { received, stored, known, failed } = report
      return { body: { data: report }, resourceId: newId('imp'), details: { received, stored, known, failed } }
    },
    ({ data }) => ({
      data: data.results.length > keptResults ? { ...data, results: [], results_left_out: data.results.length } : data,
    }),
  )
