import type { Basis, Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { foldersOf, schemaVersion } from './rules.ts'

/** The first part of every document, as the contract requires. Its records are counted separately. */
export const unitsPart = 'knowledge_units'

/** First members of an export in each format. */
export interface DocumentHead {
  agent_id: string
  /** Records that were stored later are not included. */
  exported_at: string
  schema_version: string
  scope: Basis
  /** Set if somebody else than the subject exports: their id in the audit log, and what entitles them. */
  exported_by?: string
  /** left_out: without a request of the subject, private content and private parts are missing. */
  private_content?: 'included' | 'left_out'
  /** The request of the subject that entitles the reader to private content. */
  request_id?: string
}
/** One part of an export for one reader. Its pages can be read repeatedly. */
export interface ExportPart {
  name: string
  pages(): AsyncIterable<ExportPage>
}

/** Returns the parts that a basis includes: units first, then the others in the order of the domains. */
export function exportPartsOf(
  exporters: readonly (Exporter | PersonExporter)[],
  subjectId: string,
  reader: ExportReader,
): ExportPart[] {
  return exporters
    .filter(({ bases, isShared }) => bases.includes(reader.basis) && (reader.seesPrivate || isShared))
    .sort((a, b) => Number(b.part === unitsPart) - Number(a.part === unitsPart))
    .map((exporter) => ({ name: exporter.part, pages: () => ahead(exporter.pages(subjectId, reader)) }))
}

/** Reads the next page while the current one is sent. An early end waits for the page that is being read. */
async function* ahead<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  const source = pages[Symbol.asyncIterator]()
  const ask = () => {
    const asked = source.next()
    // The awaiting reader gets the error; this avoids an unhandled rejection before.
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

/** Streams one JSON document. The count of units follows the units, because it is unknown before. */
export async function* jsonDocument(head: DocumentHead, parts: readonly ExportPart[]): AsyncGenerator<string> {
  const totals: Record<string, number> = {}
  yield JSON.stringify(head).slice(0, -1)
  for (const { name, pages } of parts) {
    yield `,\n${JSON.stringify(name)}:[`
    let total = 0
    for await (const { lines, count } of pages()) {
      // Line breaks occur only between records.
      yield `${total === 0 ? '\n' : ',\n'}${lines.replaceAll('\n', ',\n')}`
      total += count
    }
    yield name === unitsPart ? `],\n"total_units":${total}` : ']'
    totals[name] = total
  }
  yield `,\n"totals":${JSON.stringify(totals)}}\n`
}

/** Streams NDJSON: a header, one line per record with its part, and a last line with the totals. */
export async function* ndjsonDocument(head: DocumentHead, parts: readonly ExportPart[]): AsyncGenerator<string> {
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

/** First members of the manifest of a person's archive. */
interface PersonHead {
  account_id: string
  exported_at: string
  schema_version: string
  scope: Basis
  agents: { agent_id: string; folder: string }[]
}

/** Returns a person's export: the parts of the account, and a folder for each agent with the parts of an agent export. */
export function personDocument(
  exporters: { person: readonly PersonExporter[]; agent: readonly Exporter[] },
  accountId: string,
  reader: ExportReader,
): { head: PersonHead; parts: ExportPart[] } {
  const folders = foldersOf(reader.agents)
  const ofAgents = [...folders].flatMap(([agentId, folder]) =>
    exportPartsOf(exporters.agent, agentId, reader).map((part) => ({ ...part, name: `${folder}/${part.name}` })),
  )
  return {
    head: {
      account_id: accountId,
      exported_at: reader.until.toISOString(),
      schema_version: schemaVersion,
      scope: reader.basis,
      agents: [...folders].map(([agent_id, folder]) => ({ agent_id, folder })),
    },
    parts: [...exportPartsOf(exporters.person, accountId, reader), ...ofAgents],
  }
}
