import { z } from 'zod'
import { RequestRefused } from '#lib/client/request.ts'
import { openEntry } from '#lib/client/sealing/entry.ts'
import type { MasterKey } from '#lib/client/sealing/keyring.ts'
import { cladeEntryIdForm, isShared, maxGenerations, shareIdForm } from '#lib/domains/clades/rules.ts'
import { stripEntry } from '#lib/domains/clades/strip-rules.ts'
import { readEntry } from '#lib/domains/grimoire/contract.ts'
import { Failure } from './failure.ts'
import { sealing, unsealedMasterKey } from './keyring-opening.ts'
import type { CommandActor } from './person.ts'

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
export async function shareOfEntry(asking: CommandActor, id: string, entryId: string) {
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
