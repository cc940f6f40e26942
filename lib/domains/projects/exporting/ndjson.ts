import type { ExportPage } from '#lib/kernel/exporter.ts'

export interface NdjsonPart {
  name: string
  pages(): AsyncIterable<ExportPage>
}

/** Yields a header line, a line with the part's name for each record, and a last line with the totals. */
export async function* ndjson(head: object, parts: readonly NdjsonPart[]): AsyncGenerator<string> {
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
  yield `${JSON.stringify({ totals })}\n`
}
