import type { Command } from 'commander'
import { Option } from 'commander'
import type { ResponseOf } from '#lib/client/request.ts'
import { visibilities } from '#lib/domains/knowledge/contract.ts'
import { listUnits } from '#lib/domains/knowledge/search/contract.ts'
import { usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { remindOfErased } from './tombstones.ts'

type Hit = ResponseOf<typeof listUnits>['body']['data'][number]

/** Short names of unit types. */
const types = { trace: 'ReasoningTrace', pattern: 'ToolCallPattern', sop: 'ExpertSOP' } as const
const typeNames = Object.keys(types) as (keyof typeof types)[]

interface SearchOptions {
  type?: keyof typeof types
  domain?: string
  minQuality?: string
  agent?: string
  visibility?: (typeof visibilities)[number]
  limit?: string
  cursor?: string
}

const within = (option: string, text: string, least: number, most: number): number => {
  const number = Number(text)
  if (text.trim() !== '' && number >= least && number <= most) return number
  throw usageFailure(`${option} must be a number from ${least} to ${most}, not "${text}".`)
}

function queryOf(words: readonly string[], options: SearchOptions) {
  const { type, domain, minQuality, agent, visibility, limit, cursor } = options
  return {
    limit: Math.floor(within('--limit', limit ?? '10', 1, 100)),
    ...(words.length > 0 && { q: words.join(' ') }),
    ...(type !== undefined && { types: types[type] }),
    ...(domain !== undefined && { domain }),
    ...(minQuality !== undefined && { min_quality: within('--min-quality', minQuality, 0, 1) }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(visibility !== undefined && { visibility }),
    ...(cursor !== undefined && { cursor }),
  }
}

/** The title of a unit in a list without search terms. */
const titleOf = ({ unit }: Hit): string => (unit['@type'] === 'ReasoningTrace' ? unit.task.objective : unit.name)

function printHit({ terminal }: CommandSession, hit: Hit): void {
  const { id, unit, quality_score, visibility, agent_id, snippet } = hit
  terminal.line(
    terminal.bold(id),
    terminal.dim(`  ${unit.metadata.task_domain}, quality ${quality_score.toFixed(2)}, ${visibility}, by ${agent_id}`),
  )
  // Line breaks are shown as spaces of the same length, so that the offsets remain valid.
  if (snippet) terminal.line('  ', terminal.marked(snippet.text.replace(/[\r\n\t]/g, ' '), snippet.highlights))
  else terminal.line(`  ${[...titleOf(hit).replace(/\s+/g, ' ')].slice(0, 160).join('')}`)
}

async function search(session: CommandSession, words: readonly string[], options: SearchOptions): Promise<void> {
  const { terminal, command } = session
  await remindOfErased(session)
  const query = queryOf(words, options)
  const { body } = await session.call(listUnits, { query })
  terminal.document(body)
  for (const { from, to } of body.corrected ?? [])
    terminal.note(`No results for "${from}". Searched for "${to}" instead.`)
  for (const hit of body.data) printHit(session, hit)
  const { total, next_cursor: next } = body
  if (body.data.length === 0)
    terminal.note(options.cursor === undefined ? 'No results that you can access.' : 'No more results.')
  else if (next !== null)
    terminal.note(`${body.data.length} of ${total > 1000 ? 'more than 1,000' : total}. For more, add --cursor ${next}`)
  if (body.data.length > 0) terminal.note(`Read one: ${command('get <id>')}`)
}

/** Search: search. */
export function searchCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('search')
    .summary('search units, or list the newest')
    .description(
      'Searches the units that you can access, best matches first. Units with all words rank before units with some. A word without results is treated as a typing error. Put phrases in "quotes". Without words, lists the newest units.\n\nExample:\n  kp search slow build --type trace --min-quality 0.6',
    )
    .argument('[words...]', 'what to search for')
    .addOption(new Option('--type <type>', 'of this type').choices(typeNames))
    .option('--domain <domain>', 'of this domain')
    .option('--min-quality <quality>', 'of this quality at least, 0 to 1')
    .option('--agent <id>', 'by this agent')
    .addOption(new Option('--visibility <visibility>', 'of this visibility').choices(visibilities))
    .option('--limit <count>', 'how many, up to 100 (default: 10)')
    .option('--cursor <cursor>', 'continue an earlier search')
    .action((words: string[], options: SearchOptions) => search(begin(), words, options))
}
