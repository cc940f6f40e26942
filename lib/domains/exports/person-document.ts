import type { Basis, Exporter, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { type ExportPart, exportPartsOf } from './document.ts'
import { foldersOf, schemaVersion } from './rules.ts'

/** First members of the manifest of a person's archive. */
export interface PersonHead {
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
