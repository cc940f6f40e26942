import type { Basis, Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/holder.ts'

/** What the contract promises first, and counts. */
export const unitsPart = 'knowledge_units'

/** The beginning of every form of an export. */
export interface DocumentHead {
  agent_id: string
  /** What was stored later is not in it. */
  exported_at: string
  schema_version: string
  scope: Basis
}
/** One part as it is read for one reader; may be read more than once. */
export interface Part {
  name: string
  pages(): AsyncIterable<ExportPage>
}

/** The parts that a basis gives out: the units first, then the rest in the order of the domains. */
export function partsOf(
  exporters: readonly (Exporter | PersonExporter)[],
  subjectId: string,
  reader: ExportReader,
): Part[] {
  return exporters
    .filter(({ bases }) => bases.includes(reader.basis))
    .sort((a, b) => Number(b.part === unitsPart) - Number(a.part === unitsPart))
    .map((exporter) => ({ name: exporter.part, pages: () => ahead(exporter.pages(subjectId, reader)) }))
}

/** Reads the next page while this one is on its way; who stops early waits for it, and nothing goes on behind their back. */
async function* ahead<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  const source = pages[Symbol.asyncIterator]()
  const ask = () => {
    const asked = source.next()
    // Whoever awaits it is told; until then it is nobody's unhandled fault.
    asked.catch(() => {})
    return asked
  }
  let next = ask()
  try {
    for (;;) {
      const result = await next
      if (result.done) return
      next = ask()
      yield result.value
    }
  } finally {
    await source.return?.()
  }
}

/** One JSON document. Its count of units follows them, because nobody knows it before. */
export async function* jsonDocument(head: DocumentHead, parts: readonly Part[]): AsyncGenerator<string> {
  const totals: Record<string, number> = {}
  yield JSON.stringify(head).slice(0, -1)
  for (const { name, pages } of parts) {
    yield `,\n${JSON.stringify(name)}:[`
    let total = 0
    for await (const { lines, count } of pages()) {
      // A line break stands only between two records.
      yield `${total === 0 ? '\n' : ',\n'}${lines.replaceAll('\n', ',\n')}`
      total += count
    }
    yield name === unitsPart ? `],\n"total_units":${total}` : ']'
    totals[name] = total
  }
  yield `,\n"totals":${JSON.stringify(totals)}}\n`
}

/** A header, a line for each record that names its part, and a last line with the totals. */
export async function* ndjsonDocument(head: DocumentHead, parts: readonly Part[]): AsyncGenerator<string> {
  const totals: Record<string, number> = {}
  yield `${JSON.stringify(head)}\n`
  for (const { name, pages } of parts) {
    const member = `{"part":${JSON.stringify(name)},`
    totals[name] = 0
    for await (const { lines, count } of pages()) {
      yield `${member}${lines.slice(1).replaceAll('\n{', `\n${member}`)}\n`
      totals[name] += count
    }
  }
  yield `${JSON.stringify({ total_units: totals[unitsPart] ?? 0, totals })}\n`
}
