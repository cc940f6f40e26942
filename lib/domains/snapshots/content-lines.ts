import { z } from 'zod'
import { parseJson } from '#lib/kernel/json.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { restoreBytes, restoreLineBytes, stateTypes } from './rules.ts'

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
export type ContentLine = z.output<typeof Line> & { bytes: number }

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
export async function* contentLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<ContentLine, undefined> {
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
