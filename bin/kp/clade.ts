import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { RequestRefused } from '#lib/client/request.ts'
import { openEntry } from '#lib/client/sealing/entry.ts'
import type { MasterKey } from '#lib/client/sealing/keyring.ts'
import {
  acknowledgeDeltas,
  addShare,
  previewShare,
  readClade,
  readDeltas,
  recallShare,
  setSharing,
} from '#lib/domains/clades/contract.ts'
import { cladeEntryIdForm, isShared, mostGenerations, shareIdForm } from '#lib/domains/clades/rules.ts'
import { stripEntry } from '#lib/domains/clades/strip-rules.ts'
import { readEntry } from '#lib/domains/grimoire/contract.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { sealing, unsealedMasterKey } from './keyring-opening.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

const AnyJson = z.json()

interface CladeOptions extends PersonOptions {
  agent?: string
}
interface ShareOptions extends CladeOptions {
  to?: string[]
  digest?: string
}

/** Reads entries of the agent and opens private ones on this machine. Asks for the passphrase once, at the first private entry. */
function opening(asking: CommandActor, id: string) {
  let master: MasterKey | undefined
  return async (entryId: string) => {
    const { data } = (await asking.call(readEntry, { params: { id, entryId } })).body
    const { kind, scope } = data
    if (scope !== 'private') return { kind, scope, parents: data.entry?.parents ?? [], opened: undefined }
    const key = master ?? (await unsealedMasterKey(asking, id)).master
    master = key
    const opened = await sealing(() =>
      openEntry(key, { id: data.id, agent: data.agent_id, kind, scope }, data.envelope),
    )
    asking.terminal.clear()
    return { kind, scope, parents: opened.parents, opened }
  }
}
type Opening = ReturnType<typeof opening>

/**
 * Origins of an entry that derives from shares through private entries, which the registry cannot follow. Undefined
 * when the registry can follow them.
 */
async function originsOf(read: Opening, first: Awaited<ReturnType<Opening>>): Promise<string[] | undefined> {
  const origins = new Set<string>()
  const seen = new Set<string>()
  let isPrivate = false
  let next = [...first.parents]
  for (let generation = 0; next.length > 0; generation++) {
    const fresh = [...new Set(next)].filter((one) => !seen.has(one))
    if (generation > mostGenerations && fresh.length > 0)
      throw new Failure(
        'too_far_back',
        `What it was made from goes back more than ${mostGenerations} generations, and a recall would not reach it. Nothing was sent.`,
      )
    next = []
    for (const one of fresh) {
      seen.add(one)
      if (shareIdForm.test(one)) origins.add(one)
      if (!cladeEntryIdForm.test(one)) continue
      const entry = await read(one).catch((error: unknown) => {
        // A deleted or expired entry: its parents are unknown.
        if (error instanceof RequestRefused && error.problem.code === 'not_found') return undefined
        throw error
      })
      if (entry?.scope === 'private') isPrivate = true
      next.push(...(entry?.parents ?? []))
    }
  }
  return isPrivate ? [...origins] : undefined
}

/** Opens and strips a private entry on this machine. The registry strips its content again. */
async function asked(asking: CommandActor, id: string, entryId: string) {
  const read = opening(asking, id)
  const first = await read(entryId)
  const { kind, opened } = first
  if (opened && !isShared(kind)) throw new Failure('never_shared', 'An episode is never shared. Nothing was sent.')
  const origins = await originsOf(read, first)
  const said = { entry_id: entryId, ...(origins && { origins }) }
  if (!opened || !isShared(kind)) return said
  if (opened.confidence === null)
    throw new Failure(
      'unsure',
      'This entry does not say how sure it is, and only what does is shared. Nothing was sent.',
    )
  const { payload, removed } = stripEntry({
    ...opened,
    kind,
    confidence: opened.confidence,
    content: AnyJson.parse(opened.content),
    provenance: AnyJson.parse(opened.provenance),
  })
  const { valid_from, valid_until, tags, parents, ...rest } = payload
  return {
    ...said,
    entry: {
      ...rest,
      kind,
      tags: [...tags],
      parents: [...parents],
      ...(valid_from !== null && { valid_from }),
      ...(valid_until !== null && { valid_until }),
    },
    ...(Object.keys(removed).length > 0 && { removed }),
  }
}

const told = (removed: Record<string, number>): string =>
  Object.entries(removed)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ') || 'nothing'

function notLookedFor({ terminal }: CommandActor, { degraded }: { degraded?: string[] | undefined }): void {
  if (degraded)
    terminal.note(
      'Names and postal addresses were not looked for everywhere: the analyzer that is connected for this did not answer.',
    )
}

async function status(asking: CommandActor, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const { data } = (await asking.call(readClade, { params: { id: await namedAgent(asking, named) } })).body
  terminal.document({ data })
  terminal.line(
    terminal.dim('sharing'.padEnd(10)),
    data.sharing_since === null ? 'off' : `on since ${data.sharing_since}`,
  )
  terminal.line(terminal.dim('waiting'.padEnd(10)), `${data.pending} to fetch, or to remove`)
  terminal.table(
    ['SIBLING', 'STATUS', 'UNFETCHED', 'NAME'],
    data.siblings.map((one) => [one.agent_id, one.status, String(one.pending), one.name ?? '']),
  )
  if (data.siblings.length === 0)
    terminal.note('No siblings: an agent gets them when it is made with this one as its ancestor.')
}

async function switchTo(asking: CommandActor, on: boolean, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(setSharing, { params: { id }, body: { on } })
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    on
      ? `${id} shares what you tell it to`
      : `${id} shares nothing more; ${body.data.withdrawn} unfetched were withdrawn`,
  )
}

async function preview(asking: CommandActor, entryId: string, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(previewShare, { params: { id }, body: await asked(asking, id, entryId) })
  terminal.document(body)
  const { payload, removed, gate, digest } = body.data
  for (const line of JSON.stringify(payload, null, 2).split('\n')) terminal.line(line)
  terminal.note(`Taken out: ${told(removed)}.`)
  notLookedFor(asking, body.data)
  terminal.note(
    gate.passes
      ? `It may be shared: ${asking.command(`clade share ${entryId} --digest ${digest}`)}`
      : `It may not be shared: its confidence is ${gate.confidence}, and ${gate.needed} is needed.`,
  )
}

async function share(asking: CommandActor, entryId: string, { agent, to, digest }: ShareOptions): Promise<void> {
  const id = await namedAgent(asking, agent)
  const { body } = await asking.call(addShare, {
    params: { id },
    body: {
      ...(await asked(asking, id, entryId)),
      ...(to && { siblings: to }),
      ...(digest !== undefined && { digest }),
    },
  })
  asking.terminal.document(body)
  const { share_id, sent_to, removed } = body.data
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${share_id} waits for ${sent_to.join(', ')}; taken out: ${told(removed)}`,
  )
  notLookedFor(asking, body.data)
}

async function recall(asking: CommandActor, shareId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(recallShare, { params: { id, shareId } })
  asking.terminal.document(body)
  const { recalled, withdrawn, to_acknowledge } = body.data
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${recalled.length} recalled: nobody fetches it here any more; never fetched: ${withdrawn}; siblings told to remove it: ${to_acknowledge}`,
  )
}

async function pending(asking: CommandActor, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(readDeltas, { params: { id }, query: { limit: 100 } })
  terminal.document(body)
  terminal.table(
    ['NUMBER', 'DO', 'SHARE', 'FROM', 'WHAT'],
    body.data.map((one) => [
      String(one.seq),
      one.action,
      one.share_id,
      one.from ?? '–',
      one.payload === null ? '' : JSON.stringify(one.payload.content).slice(0, 60),
    ]),
  )
  if (body.data.length === 0) terminal.note('Nothing waits.')
  else
    terminal.note(
      `Once it is done: ${asking.command(`clade ack ${body.next_after}${named === undefined ? '' : ` --agent ${named}`}`)}`,
    )
}

async function acknowledge(asking: CommandActor, through: number, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(acknowledgeDeltas, { params: { id }, body: { through } })
  asking.terminal.document(body)
  asking.terminal.line(asking.terminal.good('✓ '), `${body.data.delivered} taken in, ${body.data.removed} removed`)
}

const numberOf = (text: string): number => {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It takes a number that `kp clade pending` shows.')
  return number
}

/** Sharing between agents of one ancestor. */
export function cladeCommands(program: Command, begin: () => CommandSession): void {
  const clade = program
    .command('clade')
    .summary('share what an agent learned with siblings, and take it back')
    .description(
      'Siblings are agents of yours with one ancestor. Sharing is off until you switch it on; addresses of wallets, sizes and prices of trades, keys and what names people are taken out of all that is sent.\n\nExample:\n  kp clade preview ent_0123456789abcdefghijkl',
    )
  const ofAgent = (command: Command) =>
    asPersonOptions(command).option('--agent <id>', 'whose (default: the agent behind the token)')
  ofAgent(clade.command('status'))
    .summary('show siblings, and whether it shares')
    .description('Shows the siblings, whether the agent shares, and what waits.\n\nExample:\n  kp clade status')
    .action((options: CladeOptions) => withCommandActor(begin(), options, (asking) => status(asking, options.agent)))
  for (const on of [true, false])
    ofAgent(clade.command(on ? 'on' : 'off'))
      .summary(on ? 'let it share' : 'share nothing more')
      .description(
        on
          ? 'Lets the agent share what you tell it to.\n\nExample:\n  kp clade on'
          : 'Shares nothing more, and withdraws what nobody has fetched.\n\nExample:\n  kp clade off',
      )
      .action((options: CladeOptions) =>
        withCommandActor(begin(), options, (asking) => switchTo(asking, on, options.agent)),
      )
  ofAgent(clade.command('preview'))
    .summary('show exactly what a share would send')
    .description(
      'Shows what would leave and what was taken out; nothing is sent. A private entry is opened and stripped on this machine.\n\nExample:\n  kp clade preview ent_0123456789abcdefghijkl',
    )
    .argument('<entry>', 'the entry’s id')
    .action((id: string, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => preview(asking, id, options.agent)),
    )
  ofAgent(clade.command('share'))
    .summary('share an entry, stripped')
    .description(
      'Sends an entry to siblings, stripped, with a signed manifest of what was taken out.\n\nExample:\n  kp clade share ent_0123456789abcdefghijkl',
    )
    .argument('<entry>', 'the entry’s id')
    .option('--to <sibling...>', 'which siblings (default: all)')
    .option('--digest <digest>', 'of the preview: refused where something else would be sent')
    .action((id: string, options: ShareOptions) =>
      withCommandActor(begin(), options, (asking) => share(asking, id, options)),
    )
  ofAgent(clade.command('recall'))
    .summary('take a share back from every sibling')
    .description(
      'Takes what was shared out of reach, destroys it unless a legal hold keeps the sealed copy, and tells every sibling that has it to remove it.\n\nExample:\n  kp clade recall shr_0123456789abcdefghijkl',
    )
    .argument('<share>', 'the share’s id')
    .action((id: string, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => recall(asking, id, options.agent)),
    )
  ofAgent(clade.command('pending'))
    .summary('show what siblings sent and recalled')
    .description('Shows what waits to be taken in or removed.\n\nExample:\n  kp clade pending')
    .action((options: CladeOptions) => withCommandActor(begin(), options, (asking) => pending(asking, options.agent)))
  ofAgent(clade.command('ack'))
    .summary('say what was taken in and removed')
    .description('Says that everything up to this number is done.\n\nExample:\n  kp clade ack 12')
    .argument('<number>', 'the last that is done', numberOf)
    .action((through: number, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => acknowledge(asking, through, options.agent)),
    )
}
