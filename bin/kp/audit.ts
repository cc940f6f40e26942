import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { ResponseOf } from '#lib/client/request.ts'
import { AuditActions, exportAudit, queryAudit } from '#lib/domains/audit/contract.ts'
import { usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { timeOf } from './times.ts'
import { escapedJson, visibleLines } from './visible-text.ts'

type Entry = ResponseOf<typeof queryAudit>['body']['data'][number]

interface AuditOptions {
  agent?: string
  action?: (typeof AuditActions)[number]
  from?: string
  to?: string
  resource?: string
  resourceType?: string
  search?: string
  limit?: string
  format: 'table' | 'csv' | 'jsonl'
}

const filtersOf = (options: AuditOptions) => ({
  ...(options.agent !== undefined && { agent_id: options.agent }),
  ...(options.action !== undefined && { action: options.action }),
  ...(options.resource !== undefined && { resource_id: options.resource }),
  ...(options.resourceType !== undefined && { resource_type: options.resourceType }),
  ...(options.search !== undefined && { q: options.search }),
  ...(options.from !== undefined && { from: timeOf('--from', options.from) }),
  ...(options.to !== undefined && { to: timeOf('--to', options.to) }),
})

async function exported(session: CommandSession, options: AuditOptions, format: 'csv' | 'jsonl'): Promise<void> {
  if (options.limit !== undefined)
    throw usageFailure(
      '--limit works only with tables; csv and jsonl contain all entries. Use --from and --to to select fewer.',
    )
  const response = await session.stream(exportAudit, { query: { ...filtersOf(options), format } })
  if (!response.body) return
  const { stdout } = session.invocation
  const isShown = stdout.isTTY === true
  const decoder = new TextDecoderStream()
  // A file gets CSV unchanged. On a terminal, control characters are made visible; JSON escapes them.
  const safe = format === 'jsonl' ? escapedJson : isShown ? visibleLines : (text: string) => text
  await pipeline(
    response.body.pipeThrough(decoder),
    async function* (pieces: AsyncIterable<string>) {
      for await (const piece of pieces) yield safe(format === 'csv' && isShown ? piece.replaceAll('\r\n', '\n') : piece)
    },
    stdout,
    { end: false },
  )
}

const rowOf = (entry: Entry): string[] => [
  entry.timestamp,
  entry.action,
  entry.agentId,
  entry.resourceType,
  entry.resourceId,
  entry.ip,
  JSON.stringify(entry.details ?? {}),
]

async function table(session: CommandSession, options: AuditOptions): Promise<void> {
  const { terminal, command } = session
  const most = options.limit === undefined ? 20 : Number(options.limit)
  if (!Number.isInteger(most) || most < 1)
    throw usageFailure(`--limit must be a whole number of at least 1, not "${options.limit}".`)
  const rows: Entry[] = []
  let cursor: string | undefined
  let total = 0
  do {
    const { body } = await session.call(queryAudit, {
      query: {
        ...filtersOf(options),
        limit: Math.min(100, most - rows.length),
        ...(cursor !== undefined && { cursor }),
      },
    })
    rows.push(...body.data)
    if (cursor === undefined) total = body.total
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined && rows.length < most)
  terminal.document({ data: rows, total, next_cursor: cursor ?? null })
  terminal.table(['TIME', 'ACTION', 'WHO', 'TYPE', 'RESOURCE', 'ADDRESS', 'DETAILS'], rows.map(rowOf))
  if (cursor !== undefined)
    terminal.note(
      `${rows.length} of ${total > 1000 ? 'more than 1,000' : total} entries. More with --limit; all of them with ${command('audit --format jsonl')}`,
    )
}

/** The audit log. */
export function auditCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('audit')
    .summary('read the audit log')
    .description(
      'Shows audit entries, newest first: your own, or all entries for admins and auditors. csv and jsonl contain all selected entries.\n\nExample:\n  kp audit --action delete --from 2026-01-01\n  kp audit --format csv > audit.csv',
    )
    .option('--agent <id>', 'by this actor: an agent, user:<id> or system:<job>')
    .addOption(new Option('--action <action>', 'with this action').choices(AuditActions))
    .option('--from <time>', 'not before this day or time')
    .option('--to <time>', 'before this day or time')
    .option('--resource <id>', 'concerning the resource with this id')
    .option('--resource-type <type>', 'concerning this type of resource: knowledge, token, agent …')
    .option('--search <text>', 'with this text in the resource’s id or the details')
    .option('--limit <count>', 'rows of the table (default: 20)')
    .addOption(new Option('--format <format>', 'the output format').choices(['table', 'csv', 'jsonl']).default('table'))
    .action((options: AuditOptions) =>
      options.format === 'table' ? table(begin(), options) : exported(begin(), options, options.format),
    )
}
