import type { Exporter } from '#lib/kernel/exporter.ts'
import type { StatePart } from './ports.ts'

/** Export parts that make up an agent's state, and whether a record of them is already sealed. */
const isSealed: Record<string, (record: unknown) => boolean> = {
  agent_documents: () => false,
  keyrings: () => true,
  grimoire_entries: (record) =>
    typeof record === 'object' && record !== null && 'scope' in record && record.scope === 'private',
}

/** The parts of a snapshot from other domains: their records, as in an export. */
export const snapshotParts = (exporters: readonly Exporter[]): StatePart[] =>
  exporters.flatMap(({ part, pages }) => {
    const sealed = isSealed[part]
    if (!sealed) return []
    const reader = {
      basis: 'all',
      id: 'system:snapshots.make',
      organisationId: undefined,
      isAdmin: false,
      seesPrivate: true,
    } as const
    return [
      {
        name: part,
        isSealed: sealed,
        pages: (agentId, until) => pages(agentId, { ...reader, agents: [agentId], until }),
      },
    ]
  })
