// One message, written by real clients into every place of every store in every encoding, reported or not, beside the words of another person.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { entity, episode, fact } from '#lib/testing/graphs.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'

const hex = (value: number, length: number) => value.toString(16).padStart(length, '0')
const encodings: Record<string, (text: string) => string> = {
  plain: (text) => text,
  html: (text) => `<div><p>${text.replace(/ (\w)(?=\w{4})/g, ' <b>$1</b>').replaceAll('\n', '</p>\n<p>')}</p></div>`,
  entities: (text) => text.replace(/[aeo]/g, (sign) => `&#${sign.charCodeAt(0)};`).replaceAll(' ', '&nbsp;'),
  json: (text) =>
    `data: {"delta":"${text.replace(/[^ -z]|[a-f]/g, (sign) => `\\u${hex(sign.charCodeAt(0), 4)}`)}"}\n\n`,
  percent: (text) => `https://example.org/search?q=${encodeURIComponent(text)}&page=2`,
  base64: (text) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
  'quoted-printable': (text) => text.replaceAll(' ', '=20').replace(/(.{60}[a-z])/g, '$1=\n'),
  'zero-width': (text) => text.replace(/(\w\w)(?=\w\w)/g, '$1\u200b'),
  ansi: (text) => text.replaceAll(' ', ' \u001b[1;31m'),
}
// The checker undoes every encoding in turn, and shares no code with the erasure.
const revealed = (raw: string): string => {
  const forms = [raw]
  for (let round = 0; round < 3; round++)
    for (const text of [...forms].slice(-6))
      forms.push(
        text
          .replace(/\\\\?u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
          .replace(/\\+[nrt]/g, '\n'),
        text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
        text
          .replace(/=\s*(?:\\n|\n)/g, '')
          .replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
        text.replace(/[A-Za-z0-9+/]{24,}={0,2}/g, (one) => Buffer.from(one, 'base64').toString()),
      )
  return forms
    .map((text) =>
      text
        .replaceAll('\\u001b', '\u001b')
        .split('\u001b')
        .map((part, n) => (n === 0 ? part : part.replace(/^\[[\d;]*m/, '')))
        .join('')
        .replace(/\u200b|\\u200b/g, '')
        .replace(/&nbsp;/g, ' ')
        .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
        .replace(/<[^>]*>/g, ''),
    )
    .map((text) =>
      text
        .toLowerCase()
        .split(/[^a-z0-9]+/)
        .join(' '),
    )
    .join('\n')
}
const runsOf = (text: string): string[] => {
  const words = text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  return words.slice(5).map((_, at) => words.slice(at, at + 6).join(' '))
}

const said = 'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter'
const theirs = 'The committee meets every second Tuesday about the annual budget of our little harbor library'

interface Place {
  /** Writes a value under a name. */
  put(name: string, value: string): Promise<unknown>
  /** The pointer that an application reports for a name, if it can. */
  pointer?(name: string): Record<string, string>
  /** What others wrote remains only where it can be cut: a generated text is emptied as a whole. */
  isGenerated?: boolean
}

describe.skipIf(!(await areStoresInstalled()))('encoded words in connected stores', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let redis: ConnectedTest['redis']
  let project: MadeProject
  let places: Record<string, Place>
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:,uploads/' })
    ;({ stores, test, redis } = connected)
    project = await madeProject(test, { group_id: newId('grp').toLowerCase() })
    places = placesOf()
  }, 240_000)
  afterAll(() => connected?.close())

  function placesOf(): Record<string, Place> {
    const bare = { episodes: [], entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
    const group = project.groupId
    const time = () => ({ createdAt: test.clock.now(), validAt: test.clock.now() })
    const plant = (more: object) => stores.planting.plant({ group, ...bare, ...more })
    const put = (thread: string, values: Record<string, unknown>, writes: [string, unknown][] = []) =>
      writeThread(stores.saver, thread, values, { writes })
    const inThread = (place: string) => ({ store: 'checkpoints', place })
    return {
      'episode content': {
        async put(name, value) {
          await plant({ episodes: [episode(name, 1, { content: value, ...time() })] })
        },
        pointer: (name) => ({ store: 'graph', ref: name }),
      },
      'episode description': {
        isGenerated: true,
        async put(name, value) {
          await plant({ episodes: [episode(name, 1, { content: theirs, sourceDescription: value, ...time() })] })
        },
      },
      fact: {
        isGenerated: true,
        async put(name, value) {
          const [one, other] = [`${name}-a`, `${name}-b`]
          const [from, to] = [entity(one, 'Works', ['Company']), entity(other, 'Bank', ['Company'])]
          const of = fact(name, one, other, [`${name}-e`], { fact: value, createdAt: test.clock.now() })
          await plant({ episodes: [episode(`${name}-e`, 1, time())], entities: [from, to], facts: [of] })
        },
      },
      summary: {
        isGenerated: true,
        async put(name, value) {
          const old = entity(name, 'Works', ['Company'], { summary: value, attributes: { note: 'none' } })
          const mentions = [{ episode: `${name}-e`, entity: name }]
          await plant({ episodes: [episode(`${name}-e`, 1, time())], entities: [old], mentions })
        },
      },
      'message in a state': {
        put: (name, value) => put(name, { messages: [new HumanMessage(value), new AIMessage(theirs)] }),
        pointer: inThread,
      },
      'text in a state': { put: (name, value) => put(name, { notes: value }), pointer: inThread },
      'pending write': { put: (name, value) => put(name, {}, [['notes', value]]), pointer: inThread },
      'memory item': {
        async put(name, value) {
          await stores.remember(['memories', name], 'one', { text: value })
        },
      },
      string: {
        async put(name, value) {
          await redis.set(`app:${name}`, value)
        },
        pointer: (name) => ({ store: 'cache', ref: `app:${name}` }),
      },
      hash: {
        async put(name, value) {
          await redis.hSet(`app:${name}`, { text: value, other: theirs })
        },
        pointer: (name) => ({ store: 'cache', ref: `app:${name}` }),
      },
      list: {
        async put(name, value) {
          await redis.rPush(`app:${name}`, [theirs, value])
        },
        pointer: (name) => ({ store: 'cache', ref: `app:${name}` }),
      },
      stream: {
        async put(name, value) {
          await redis.xAdd(`app:${name}`, '*', { text: value })
          await redis.xAdd(`app:${name}`, '*', { text: theirs })
        },
        pointer: (name) => ({ store: 'cache', ref: `app:${name}` }),
      },
      object: {
        async put(name, value) {
          await stores.putObject(`uploads/${name}.txt`, value)
        },
        pointer: (name) => ({ store: 'objects', ref: `uploads/${name}.txt` }),
      },
    }
  }

  it('leaves no words of an erased message in any place and encoding, and every word of another person', async () => {
    const member = await madeMember(test, project)
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, { content: `${said}.` })
    const other = await madeMessage(test, conversation, member, { content: `${theirs}.` })
    const all = Object.entries(places).flatMap(([place, { isGenerated = false, pointer }]) =>
      Object.entries(encodings).flatMap(([encoding, encode]) =>
        (['reported', 'unreported', 'theirs'] as const).flatMap((kind) => {
          if (kind === 'reported' && !pointer) return []
          const name = `${place} ${encoding} ${kind}`.replace(/\W+/g, '-')
          const value = encode(kind === 'theirs' ? `${theirs}.` : `${said}.\n${theirs}.`)
          return [{ name, place, isGenerated, value, kind, pointer }]
        }),
      ),
    )
    const cases = sampled('encodings and places', all, 60)
    const entries = cases.flatMap(({ name, kind, pointer }) =>
      kind === 'reported' && pointer
        ? [message, other].map(({ id }) => ({ ref: id, ...pointer(name), source_id: id }))
        : [],
    )
    for (let at = 0; at < entries.length; at += 100)
      await reported(test, project, project.agent, entries.slice(at, at + 100))
    for (const { name, place, value } of cases) await places[place]?.put(name, value)
    const plan = await dataOf(test, 'DELETE', `${message.path}?dry_run=true`, project.owner)
    const before = await stores.everything()
    const receiptId = await eraseWholeProject(test, message.path, project.owner)
    const after = await stores.everything()
    const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { receiptId }, include: { steps: true } })
    const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`)

    const left: string[] = []
    const lost: string[] = []
    const unplanned: string[] = []
    // The columns of a row belong together.
    const records = (contents: Map<string, string>) =>
      [...Map.groupBy(contents, ([place]) => /^threads\.\S+ \d+ /.exec(place)?.[0] ?? place).values()].map((columns) =>
        columns.flat().join('\n'),
      )
    const [stored, remaining] = [records(before), records(after)]
    const contentOf = (all: readonly string[], name: string) =>
      all
        .filter((text) => text.includes(name))
        .map((text) => text.replace(/threads\.\S+ \d+ /g, ''))
        .sort()
        .join('\n')
    const planned = JSON.stringify(plan.verdicts)
    const inThreads = ['message in a state', 'text in a state', 'pending write']
    const unnamed = new Set([...inThreads, 'string', 'hash', 'list', 'stream', 'object'])
    for (const { name, place, isGenerated, kind } of cases) {
      const isTheirs = kind === 'theirs'
      const [was, now] = [contentOf(stored, name), contentOf(remaining, name)]
      expect(was, name).not.toBe('')
      const text = revealed(now)
      if (runsOf(said).some((words) => text.includes(words))) left.push(name)
      if (isTheirs ? now !== was : !isGenerated && !runsOf(theirs).some((words) => text.includes(words)))
        lost.push(name)
      // The plan counts the items of the long-term store together, and threads, entries and objects whose names do not lead to the project.
      const isCounted = place === 'memory item' || (kind === 'unreported' && unnamed.has(place))
      if (!isTheirs && isCounted === planned.includes(name)) unplanned.push(name)
    }
    expect({ left, lost, unplanned, rounds: run.rounds }).toEqual({ left: [], lost: [], unplanned: [], rounds: 0 })
    const items = cases.filter(({ place, kind }) => place === 'memory item' && kind !== 'theirs').length
    if (items > 0)
      expect(plan.verdicts).toContainEqual(expect.objectContaining({ kind: 'memory', evidence: [`items:${items}`] }))
    expect(receipt.stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
  }, 240_000)

  let sentences = 0
  const sentence = () => {
    const n = ++sentences
    return `Nobody else knows${n} that the lantern${n} in our cellar${n} burned every night${n} of the long winter${n}.`
  }

  it('cuts words from a cached value although an assistant repeats them, and keeps what two people said', async () => {
    const own = await madeProject(test)
    const conversation = await madeConversation(test, own)
    const [first, second, third, fourth, other] = [sentence(), sentence(), sentence(), sentence(), sentence()]
    const quoted = await madeMessage(test, conversation, own.owner, { content: `${first} ${second}` })
    for (const content of [first, second])
      await madeMessage(test, conversation, own.agent, { content: `You said: ${content}`, role: 'assistant' })
    await madeMessage(test, conversation, await madeMember(test, own), { content: other })
    const [value, both] = [`app:${own.id}:quoted`, `app:${own.id}:both`]
    await redis.set(value, `${first} ${second}\n${other}`)
    const shared = await madeMessage(test, conversation, own.owner, { content: `${third} ${fourth}` })
    for (const content of [third, fourth])
      await madeMessage(test, conversation, await madeMember(test, own), { content })
    await redis.set(both, `${third} ${fourth}`)
    for (const { path } of [quoted, shared]) await eraseWholeProject(test, path, own.owner)
    expect(await redis.get(value)).toBe(other)
    expect(await redis.get(both)).toBe(`${third} ${fourth}`)
    const { text } = await test.fetch('GET', `${conversation.path}/messages`, own.owner)
    expect([text.includes(first.slice(0, 50)), text.includes(second.slice(0, 50))]).toEqual([false, false])
  })

  it('counts unreadable objects of the project and of other authors, and not those that name only another project', async () => {
    const [own, elsewhere] = [await madeProject(test), await madeProject(test)]
    const conversation = await madeConversation(test, own)
    const message = await madeMessage(test, conversation, own.owner, { content: sentence() })
    const theirs = await madeMessage(test, conversation, await madeMember(test, own), { content: sentence() })
    const bytes = Buffer.from([0, 159, 146, 150, 0, 255, 254, 7])
    const keys = [own.id, `authors/${theirs.id}`, 'nobody', elsewhere.id, `${elsewhere.id}/${own.id}`]
    const count = async () => {
      const receiptId = await eraseWholeProject(test, message.path, own.owner)
      const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
      return (json.not_searched ?? []).find(
        ({ store, count: n }: { store: string; count: number | null }) => store === 'objects' && n !== null,
      )?.count
    }
    for (const key of keys) await stores.putObject(`uploads/${key}/scan.bin`, bytes)
    expect(await count()).toBe(4)
  })
})
