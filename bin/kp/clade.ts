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
import { cladeEntryIdForm, isShared, maxGenerations, shareIdForm } from '#lib/domains/clades/rules.ts'
import { stripEntry } from '#lib/domains/clades/strip-rules.ts'
import { readEntry } from '#lib/domains/grimoire/contract.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { sealing, unsealedMasterKey } from './keyring-opening.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

const AnyJson = z.json()

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
    if (generation > maxGenerations && fresh.length > 0)
      throw new Failure(
        'too_far_back',
        `The entry derives from more than ${maxGenerations} generations of entries, so a recall could not reach it. Nothing was sent.`,
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
async function shareOfEntry(asking: CommandActor, id: string, entryId: string) {
  const read = opening(asking, id)
  const first = await read(entryId)
  const { kind, opened } = first
  if (opened && !isShared(kind)) throw new Failure('never_shared', 'Episodes cannot be shared. Nothing was sent.')
  const origins = await originsOf(read, first)
  const said = { entry_id: entryId, ...(origins && { origins }) }
  if (!opened || !isShared(kind)) return said
  if (opened.confidence === null)
    throw new Failure(
      'unsure',
      'The entry has no confidence, which sharing requires. Nothing was sent. Set it with kp grimoire edit --confidence.',
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

interface CladeOptions extends PersonOptions {
  agent?: string
}
interface ShareOptions extends CladeOptions {
  to?: string[]
  digest?: string
}

const told = (removed: Record<string, number>): string =>
  Object.entries(removed)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ') || 'nothing'

function notLookedFor({ terminal }: CommandActor, { degraded }: { degraded?: string[] | undefined }): void {
  if (degraded) terminal.note('The analyzer did not answer, so names and postal addresses may remain in the text.')
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
    terminal.note('No siblings. To create one, create an agent with this agent as its ancestor.')
}

async function switchTo(asking: CommandActor, on: boolean, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(setSharing, { params: { id }, body: { on } })
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    on
      ? `Sharing is on for ${id}. It shares only the entries that you choose.`
      : `Sharing is off for ${id}. ${body.data.withdrawn} shares that no sibling had fetched were withdrawn.`,
  )
}

async function preview(asking: CommandActor, entryId: string, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(previewShare, { params: { id }, body: await shareOfEntry(asking, id, entryId) })
  terminal.document(body)
  const { payload, removed, gate, digest } = body.data
  for (const line of JSON.stringify(payload, null, 2).split('\n')) terminal.line(line)
  terminal.note(`Removed: ${told(removed)}.`)
  notLookedFor(asking, body.data)
  terminal.note(
    gate.passes
      ? `You can share it: ${asking.command(`clade share ${entryId} --digest ${digest}`)}`
      : `It cannot be shared: its confidence is ${gate.confidence}, and at least ${gate.needed} is required.`,
  )
}

async function share(asking: CommandActor, entryId: string, { agent, to, digest }: ShareOptions): Promise<void> {
  const id = await namedAgent(asking, agent)
  const { body } = await asking.call(addShare, {
    params: { id },
    body: {
      ...(await shareOfEntry(asking, id, entryId)),
      ...(to && { siblings: to }),
      ...(digest !== undefined && { digest }),
    },
  })
  asking.terminal.document(body)
  const { share_id, sent_to, removed } = body.data
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${share_id} waits for ${sent_to.join(', ')}; removed: ${told(removed)}`,
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
    `${recalled.length} recalled and no longer available; never fetched: ${withdrawn}; siblings asked to remove it: ${to_acknowledge}`,
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
  if (body.data.length === 0) terminal.note('Nothing is pending.')
  else
    terminal.note(
      `When you have processed these: ${asking.command(`clade ack ${body.next_after}${named === undefined ? '' : ` --agent ${named}`}`)}`,
    )
}

async function acknowledge(asking: CommandActor, through: number, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(acknowledgeDeltas, { params: { id }, body: { through } })
  asking.terminal.document(body)
  asking.terminal.line(asking.terminal.good('✓ '), `${body.data.delivered} delivered, ${body.data.removed} removed`)
}

const numberOf = (text: string): number => {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('Give a number that `kp clade pending` shows.')
  return number
}

/** Sharing between agents of one ancestor. */
export function cladeCommands(program: Command, begin: () => CommandSession): void {
  const clade = program
    .command('clade')
    .summary('share entries with sibling agents, and recall them')
    .description(
      'Siblings are your agents with the same ancestor. Sharing is off by default. Wallet addresses, trade sizes and prices, keys and personal names are removed before anything is sent.\n\nExample:\n  kp clade preview ent_0123456789abcdefghijkl',
    )
  const ofAgent = (command: Command) =>
    asPersonOptions(command).option('--agent <id>', 'the agent (default: the agent of the token)')
  ofAgent(clade.command('status'))
    .summary('show the siblings and sharing status of an agent')
    .description('Shows the siblings, whether sharing is on, and what is pending.\n\nExample:\n  kp clade status')
    .action((options: CladeOptions) => withCommandActor(begin(), options, (asking) => status(asking, options.agent)))
  for (const on of [true, false])
    ofAgent(clade.command(on ? 'on' : 'off'))
      .summary(on ? 'turn sharing on' : 'turn sharing off')
      .description(
        on
          ? 'Turns sharing on. The agent shares only the entries that you choose.\n\nExample:\n  kp clade on'
          : 'Turns sharing off and withdraws shares that no sibling has fetched.\n\nExample:\n  kp clade off',
      )
      .action((options: CladeOptions) =>
        withCommandActor(begin(), options, (asking) => switchTo(asking, on, options.agent)),
      )
  ofAgent(clade.command('preview'))
    .summary('show exactly what a share would send')
    .description(
      'Shows what would be sent and what would be removed. Nothing is sent. A private entry is opened and stripped on this machine.\n\nExample:\n  kp clade preview ent_0123456789abcdefghijkl',
    )
    .argument('<entry>', 'the entry’s id')
    .action((id: string, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => preview(asking, id, options.agent)),
    )
  ofAgent(clade.command('share'))
    .summary('share an entry, stripped')
    .description(
      'Sends a stripped entry to siblings, with a signed manifest of what was removed.\n\nExample:\n  kp clade share ent_0123456789abcdefghijkl',
    )
    .argument('<entry>', 'the entry’s id')
    .option('--to <sibling...>', 'which siblings (default: all)')
    .option('--digest <digest>', 'the digest of the preview; the command fails if the content differs')
    .action((id: string, options: ShareOptions) =>
      withCommandActor(begin(), options, (asking) => share(asking, id, options)),
    )
  ofAgent(clade.command('recall'))
    .summary('recall a share from every sibling')
    .description(
      'Makes the share unavailable, destroys it unless a legal hold covers it, and asks every sibling that fetched it to remove it.\n\nExample:\n  kp clade recall shr_0123456789abcdefghijkl',
    )
    .argument('<share>', 'the share’s id')
    .action((id: string, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => recall(asking, id, options.agent)),
    )
  ofAgent(clade.command('pending'))
    .summary('show what siblings sent and recalled')
    .description('Shows the shares and recalls that the agent has not processed yet.\n\nExample:\n  kp clade pending')
    .action((options: CladeOptions) => withCommandActor(begin(), options, (asking) => pending(asking, options.agent)))
  ofAgent(clade.command('ack'))
    .summary('acknowledge processed shares and recalls')
    .description('Acknowledges all shares and recalls up to this number.\n\nExample:\n  kp clade ack 12')
    .argument('<number>', 'the number of the last processed item', numberOf)
    .action((through: number, options: CladeOptions) =>
      withCommandActor(begin(), options, (asking) => acknowledge(asking, through, options.agent)),
    )
}
