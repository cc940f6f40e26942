import { type Command, Option } from 'commander'
import type { EntryContent } from '#lib/client/sealing/entry.ts'
import { usageFailure } from './failure.ts'
import { timeOf } from './times.ts'

const clearable = ['confidence', 'tags', 'provenance', 'parents', 'from', 'until'] as const
/** Metadata of an entry besides its content. */
export interface EntryOptions {
  confidence?: string
  tag?: string[]
  provenance?: string
  parent?: string[]
  from?: string
  until?: string
  clear?: (typeof clearable)[number][]
}

export const describingOptions = (command: Command): Command =>
  command
    .option('--confidence <share>', 'the confidence, from 0 to 1')
    .option('--tag <tag...>', 'tags')
    .option('--provenance <words>', 'the source of the entry')
    .option('--parent <id...>', 'ids of the entries that it derives from')
    .option('--from <time>', 'valid from this day or ISO 8601 time')
    .option('--until <time>', 'expires on this day or at this ISO 8601 time')
export const clearingOption = () => new Option('--clear <what...>', 'fields to remove').choices(clearable)

function shareOf(text: string): number {
  const share = text.trim() === '' ? Number.NaN : Number(text)
  if (!(share >= 0 && share <= 1)) throw usageFailure(`--confidence must be a number from 0 to 1, not "${text}".`)
  return share
}

/** Changes to an entry from the options. Other members stay unchanged. @throws Failure from {@link usageFailure} */
export function entryChangesOf(options: EntryOptions): Partial<EntryContent> {
  const { confidence, tag, provenance, parent, from, until } = options
  const cleared = new Set(options.clear)
  return {
    ...(cleared.has('confidence') && { confidence: null }),
    ...(cleared.has('tags') && { tags: [] }),
    ...(cleared.has('provenance') && { provenance: null }),
    ...(cleared.has('parents') && { parents: [] }),
    ...(cleared.has('from') && { valid_from: null }),
    ...(cleared.has('until') && { valid_until: null }),
    ...(confidence !== undefined && { confidence: shareOf(confidence) }),
    ...(tag && { tags: tag }),
    ...(provenance !== undefined && { provenance }),
    ...(parent && { parents: parent }),
    ...(from !== undefined && { valid_from: timeOf('--from', from) }),
    ...(until !== undefined && { valid_until: timeOf('--until', until) }),
  }
}

type Readable = Omit<EntryContent, 'content' | 'provenance'> & { content: unknown; provenance: unknown }
/** The request body of an entry for the clade. @throws Failure from {@link usageFailure} without a confidence */
export function cladeBody({ confidence, tags, parents, valid_from, valid_until, ...rest }: Readable) {
  if (confidence === null) throw usageFailure('An entry for the clade requires --confidence.')
  return {
    ...rest,
    scope: 'clade' as const,
    confidence,
    tags: [...tags],
    parents: [...parents],
    ...(valid_from !== null && { valid_from }),
    ...(valid_until !== null && { valid_until }),
  }
}
