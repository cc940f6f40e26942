import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { readStoreEnv } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { FindReport } from '#lib/operator/find.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { exitCodes, Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'

interface StoreOptions {
  postgres: string[]
  neo4j: string[]
  redis: string[]
  s3: string[]
}
interface FindOptions extends StoreOptions {
  text: string[]
  content?: boolean
  load: string
  state?: string
}
interface OrphanOptions extends StoreOptions {
  known?: string
  named: string[]
}

/** Milliseconds. */
const closeWithin = 5_000

const schemes = {
  postgres: ['postgres:', 'postgresql:'],
  neo4j: ['neo4j:', 'neo4j+s:', 'neo4j+ssc:', 'bolt:', 'bolt+s:', 'bolt+ssc:'],
  redis: ['redis:', 'rediss:'],
  s3: ['s3:', 'gs:', 'file:'],
} as const

/** The given addresses, or those of the variables. The messages repeat no address, because it may contain a password. */
function storesOf({ invocation }: CommandSession, options: StoreOptions): StoreOptions {
  const { KP_CHECKPOINTS_URL, KP_GRAPH_URL, KP_REDIS_URL, KP_OBJECTS_URL } = readStoreEnv(invocation.env)
  const isGiven = Object.keys(schemes).some((name) => options[name as keyof StoreOptions].length > 0)
  const listed = (url: string | undefined) => (url === undefined ? [] : [url])
  const stores = isGiven
    ? options
    : {
        postgres: listed(KP_CHECKPOINTS_URL),
        neo4j: listed(KP_GRAPH_URL),
        redis: listed(KP_REDIS_URL),
        s3: listed(KP_OBJECTS_URL),
      }
  let count = 0
  for (const [name, allowed] of Object.entries(schemes))
    for (const url of stores[name as keyof StoreOptions]) {
      count++
      if (!URL.canParse(url) || !allowed.some((scheme) => scheme === new URL(url).protocol))
        throw usageFailure(`--${name} must be an address such as ${allowed[0]}//user:password@host/name.`)
    }
  for (const url of stores.s3)
    try {
      objectsAddress(url, '')
    } catch (error) {
      throw usageFailure(
        error instanceof Error ? error.message.replace('KP_OBJECTS_URL', '--s3') : '--s3 is not valid.',
      )
    }
  if (count === 0)
    throw usageFailure(
      'No store is named.',
      'Name one with --postgres, --neo4j, --redis or --s3, or set KP_CHECKPOINTS_URL, KP_GRAPH_URL, KP_REDIS_URL or KP_OBJECTS_URL.',
    )
  return stores
}

function readState(file: string): FindReport | undefined {
  if (!existsSync(file)) return undefined
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof read === 'object' && read !== null && 'version' in read && read.version === 1) return read as FindReport
  } catch {
    // Reported below.
  }
  throw new Failure('not_readable', `${file} is not the state of a search. Nothing was changed.`, {
    advice: 'Name another file with --state.',
  })
}
/** Only the user can read it. Replaced as a whole, so that an interruption leaves a complete state. */
function writeState(file: string, report: FindReport): void {
  writeFileSync(`${file}.new`, JSON.stringify(report), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

const count = (n: number, what: string): string => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`

async function findPerson(session: CommandSession, words: readonly string[], options: FindOptions): Promise<void> {
  const { terminal } = session
  if (words.length + options.text.length === 0)
    throw usageFailure('Name the person: a name, an email address or a telephone number.')
  const load = Number(options.load)
  if (!(load > 0 && load <= 100)) throw usageFailure(`--load must be a number from 1 to 100, not "${options.load}".`)
  const stores = storesOf(session, options)
  const file = options.state === undefined ? undefined : session.pathOf(options.state)
  const before = file === undefined ? undefined : readState(file)
  const [{ find }, { postgresSource }, { neo4jSource, redisSource, objectsSource }] = await Promise.all([
    import('#lib/operator/find.ts'),
    import('#lib/operator/find-postgres.ts'),
    import('#lib/operator/find-stores.ts'),
  ])
  const sources = [
    ...stores.postgres.map((url) => postgresSource(url, { requiresSchema: true })),
    ...stores.neo4j.map(neo4jSource),
    ...stores.redis.map(redisSource),
    ...stores.s3.map((url) => objectsSource(url)),
  ]
  try {
    const report = await find({
      sources,
      sought: { names: words, texts: options.text },
      withContent: options.content === true,
      load: load / 100,
      before,
      note: (so) => file !== undefined && writeState(file, so),
      progress: ({ store, records }, found) =>
        terminal.progress(`Searching ${store}: ${count(records, 'text')} read, ${count(found, 'place')} found`),
    })
    terminal.clear()
    print(session, report)
    if (report.stores.some(({ state }) => state !== 'done')) session.invocation.setExitCode(exitCodes.failed)
  } finally {
    terminal.clear()
    // A server that stopped answering does not confirm the end of its connection.
    await Promise.race([Promise.allSettled(sources.map((source) => source.close())), delay(closeWithin)])
  }
}

function print({ terminal }: CommandSession, { stores, places }: FindReport): void {
  const total = (of: 'matches' | 'possible') => places.reduce((sum, place) => sum + place[of], 0)
  terminal.document({
    data: {
      places,
      stores: stores.map(({ cursor: _, ...store }) => store),
      matches: total('matches'),
      possible: total('possible'),
    },
  })
  for (const { store, kind, name, field, matches, possible, content = [] } of places) {
    const counts = [
      ...(matches > 0 ? [count(matches, 'time')] : []),
      ...(possible > 0 ? [`${possible} possible`] : []),
    ].join(', ')
    terminal.line(terminal.bold(store), `  ${kind} ${name}${field === undefined ? '' : `, ${field}`}: ${counts}`)
    for (const excerpt of content) terminal.line(terminal.dim(`    ${excerpt}`))
  }
  for (const { store, address, state, records, unread, skipped, failure } of stores) {
    const kinds = Object.entries(unread).map(([kind, n]) => `${n} ${kind}`)
    const left = kinds.length > 0 ? `; not searched: ${kinds.join(', ')}` : ''
    if (state === 'done')
      terminal.line(terminal.good('✓ '), `${store} ${address}: ${count(records, 'text')} read${left}`)
    else
      terminal.line(terminal.bad('✗ '), `${store} ${address} was not searched completely: ${failure ?? 'interrupted'}`)
    for (const reason of skipped) terminal.line(terminal.warn('  ! '), reason)
  }
  const isComplete = stores.every(({ state }) => state === 'done')
  terminal.line(
    places.length === 0
      ? `Nothing was found${isComplete ? '' : ' in what was searched'}.`
      : `Found in ${count(places.length, 'place')}: ${count(total('matches'), 'time')}, and ${count(total('possible'), 'possible mention')}.`,
  )
}

async function listOrphans(session: CommandSession, options: OrphanOptions): Promise<void> {
  const { terminal } = session
  const { postgres, neo4j, redis, s3 } = storesOf(session, options)
  if (options.known !== undefined && postgres.length === 0)
    throw usageFailure('--known names a column of PostgreSQL. Name its database with --postgres.')
  if (options.named.length > 0 && options.known === undefined)
    throw usageFailure('--named requires --known, which lists the conversations that exist.')
  const [{ findOrphans }, { failureOf }] = await Promise.all([
    import('#lib/operator/orphans.ts'),
    import('#lib/operator/find.ts'),
  ])
  const report = await findOrphans({
    postgres,
    neo4j,
    redis,
    objects: s3,
    known: options.known,
    forms: options.named,
  }).catch((error: unknown) => {
    // PostgreSQL names the table or the column that does not exist.
    const isClear = error instanceof Error && /^(?:42|$)/.test(errorCode(error) ?? '')
    const message = isClear ? error.message : `The ids of --known were not read: ${failureOf(error)}.`
    throw new Failure('not_searched', message, {
      advice: 'Correct the options, then run it again. Nothing was changed.',
    })
  })
  terminal.document({ data: report })
  for (const { store, what, name, count: n } of report.orphans)
    terminal.line(terminal.bold(store), `  ${what}: ${name}${n > 1 ? ` (${n})` : ''}`)
  for (const { store, address, threads, nodes, keys } of report.examined) {
    const parts = [
      ...(threads === undefined ? [] : [count(threads, 'thread')]),
      ...(nodes === undefined ? [] : [count(nodes, 'node')]),
      ...(keys === undefined ? [] : [count(keys, 'name')]),
    ]
    terminal.line(terminal.good('✓ '), `${store} ${address}: ${parts.join(', ')} examined`)
  }
  for (const { store, address, reason } of report.failed)
    terminal.line(terminal.bad('✗ '), `${store} ${address} was not examined: ${reason}`)
  const examined = report.failed.length === 0 ? '' : ' in what was examined'
  terminal.line(
    report.orphans.length === 0 ? `Nothing was left behind${examined}.` : `${count(report.orphans.length, 'orphan')}.`,
  )
  if (report.failed.length > 0) session.invocation.setExitCode(exitCodes.failed)
}

const several = (value: string, before: string[]): string[] => [...before, value]
const withStores = (command: Command): Command =>
  command
    .option('--postgres <url>', 'a PostgreSQL database; ?schema= limits the search to one schema', several, [])
    .option('--neo4j <url>', 'a Neo4j with a graph of Graphiti', several, [])
    .option('--redis <url>', 'a Redis', several, [])
    .option('--s3 <url>', 'a bucket: s3://key:secret@host/bucket, s3://bucket?region=… or gs://bucket', several, [])

/** Searches of stores without an installation: find, orphans. */
export function findCommands(program: Command, begin: () => CommandSession): void {
  withStores(
    program
      .command('find')
      .summary('find what agents remember about a person')
      .description(
        'Searches stores of any application for a person, with the same search as the verification of an erasure: LangGraph checkpoints, Graphiti, Redis, objects, and every text, JSON and byte column of PostgreSQL. Reads only, needs no account, and sends nothing. Prints places and counts. Without addresses it uses KP_CHECKPOINTS_URL, KP_GRAPH_URL, KP_REDIS_URL and KP_OBJECTS_URL.\n\nExample:\n  kp find "Iris Probe" iris@example.org --postgres postgres://reader@localhost/app',
      )
      .argument('[words...]', 'names, email addresses and telephone numbers of one person'),
  )
    .option('--text <sentence>', 'also find this sentence; six words in a row count', several, [])
    .option('--content', 'also print excerpts; they contain personal data')
    .option('--load <percent>', 'at most this share of the time, the store works for the search', '25')
    .option('--state <file>', 'continue an interrupted search from this file')
    .action((words: string[], options: FindOptions) => findPerson(begin(), words, options))
  withStores(
    program
      .command('orphans')
      .summary('find what past deletes left behind')
      .description(
        'Lists checkpoint rows of threads that no longer exist, entities and facts without episodes, and keys and objects of deleted conversations. Reads only. An entity without episodes can also come from a triplet that the application added itself.\n\nExample:\n  kp orphans --postgres postgres://reader@localhost/app --known public.conversations.id',
      ),
  )
    .option('--known <column>', 'schema.table.column with the ids of all conversations that exist')
    .option('--named <form>', 'how keys and objects name a conversation: session:{id}:*', several, [])
    .action((options: OrphanOptions) => listOrphans(begin(), options))
}
