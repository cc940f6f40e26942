import { Problem } from '#lib/kernel/problem.ts'

const headMembers: ReadonlySet<string> = new Set([
  'agent_id',
  'schema_version',
  'total_units',
  'total_contributions',
  'exported_at',
  'scope',
])

/** The members of an imported document that describe it. `erasedAmong` returns the agent's id if the agent was erased here. */
export function importHead(erasedAmong: (agentId: string) => Promise<readonly string[]>) {
  const head: Record<string, unknown> = {}
  return {
    async take(name: string, value: unknown): Promise<void> {
      if (!headMembers.has(name)) return
      if (name === 'agent_id' && head.agent_id !== undefined) {
        if (value === head.agent_id) return
        throw new Problem('invalid', {
          detail: 'The document names two agents.',
          issues: [{ path: ['agent_id'], message: 'occurs twice with different values' }],
        })
      }
      head[name] = value
      if (name === 'schema_version' && value !== 'v1')
        throw new Problem('invalid', {
          detail: 'This registry does not support the schema of the document.',
          issues: [{ path: ['schema_version'], message: 'must be v1' }],
        })
      if (name !== 'agent_id' || typeof value !== 'string') return
      if ((await erasedAmong(value)).length > 0)
        throw new Problem('erased', 'The agent of this document was erased here, so its records cannot be imported.')
    },
    /**
     * Rejects records before agent_id is known, so that an erased subject cannot return through the order of members.
     * @throws Problem `invalid`
     */
    requireAgent(): void {
      if (typeof head.agent_id === 'string') return
      throw new Problem('invalid', {
        detail:
          'The document must name its agent before its first record. Put agent_id at its beginning, as in an export.',
        issues: [{ path: ['agent_id'], message: 'is missing before the records' }],
      })
    },
    /** @throws Problem `invalid` if the count of units is wrong, or the document is no export */
    requireComplete(units: number): void {
      const { total_contributions: contributions, total_units: total = contributions } = head
      if (total !== undefined && total !== units)
        throw new Problem('invalid', {
          detail: 'The number of units differs from total_units, so the document is incomplete or was changed.',
          issues: [
            {
              path: ['total_units'],
              message: `does not match the ${units.toLocaleString('en')} units that were received`,
            },
          ],
        })
      if (total === undefined && head.agent_id === undefined)
        throw new Problem('invalid', {
          detail: 'This document is not an export.',
          issues: [{ path: ['agent_id'], message: 'is missing' }],
        })
    },
  }
}
