import neo4j, { type Driver } from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import type { Person } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { pythonProgram } from '#lib/testing/python.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'

const modes = ['message', 'turn', 'bulk'] as const
const provenances = ['reported', 'unreported', 'half reported'] as const
const scopes = ['message', 'conversation', 'person', 'project'] as const
type Mode = (typeof modes)[number]
type Provenance = (typeof provenances)[number]
type Scope = (typeof scopes)[number]
interface Case {
  mode: Mode
  provenance: Provenance
  scope: Scope
  group: string
}

const patient = 'Xenia Musterfrau'
const names = { [patient]: 1, 'Bert Beispiel': 1, 'Nordwind Werke': 2, 'Suedlicht Bank': 2 }
/** Author, conversation and text of each message. Every second message is an agent's answer. */
const talk = [
  ['patient', 0, `This is ${patient} and I suffer from Morbus Crohn since spring, tell only Nordwind Werke please.`],
  ['agent', 0, `Thank you ${patient}. Nordwind Werke will book another quiet room for your next visit in April.`],
  ['owner', 1, 'Bert Beispiel here again: Suedlicht Bank asks for the signed contract before Friday noon.'],
  ['agent', 1, 'Suedlicht Bank receives that signed contract from Bert Beispiel on Thursday morning at nine.'],
  ['patient', 0, 'Also my daughter sleeps in room seventy seven of the clinic near Nordwind Werke now.'],
  ['agent', 0, 'Understood. Nordwind Werke sends a car with two nurses tomorrow morning at eight sharp.'],
] as const
const speakers = { patient, owner: 'Bert Beispiel', agent: 'assistant' }

// The checker knows the planted texts, and shares no code with the erasure.
const folded = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
function runs(text: string): string[] {
  const words = folded(text)
  return words.slice(5).map((_, at) => words.slice(at, at + 6).join(' '))
}
interface Raw {
  kind: string
  id: string
  texts: Record<string, string>
}
const stringsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(stringsIn)
      : []
const rawOf = (kind: string, properties: Record<string, unknown>): Raw => ({
  kind,
  id: String(properties.uuid),
  texts: Object.fromEntries(
    Object.entries(properties)
      .filter(([key]) => !key.endsWith('embedding') && key !== 'uuid')
      .map(([key, value]) => [key, stringsIn(value).join(' | ')]),
  ),
})

const isReady = isInstalled('neo4j') && isInstalled('python')
describe.skipIf(!isReady)('the graph that Graphiti wrote', () => {
  let driver: Driver
  let planting: ReturnType<typeof neo4jPlanting>
  const tests: Partial<Record<'postgresql' | 'neo4j', TestApp>> = {}
  const all = modes.flatMap((mode) =>
    provenances.flatMap((provenance) =>
      scopes.map((scope): Case => ({ mode, provenance, scope, group: newId('grp').toLowerCase() })),
    ),
  )
  const cases = sampled("Graphiti's ways of ingestion", all, 4)
  const written = new Map<string, { uuid: string; messages: string[] }[]>()

  beforeAll(async () => {
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    planting = neo4jPlanting(url)
    const program = pythonProgram('graphiti_writer.py')
    const groups = cases.map(({ group, mode }) => ({
      group,
      mode,
      messages: talk.map(([who, , text], at) => ({ id: String(at), speaker: speakers[who], text })),
    }))
    const found = await program.call(
      'write',
      {
        uri: `bolt://127.0.0.1:${port}`,
        user: username,
        password: decodeURIComponent(password),
        names,
        groups,
      },
      z.array(
        z.object({
          group: z.string(),
          episodes: z.array(z.object({ uuid: z.string(), messages: z.array(z.string()) })),
        }),
      ),
    )
    await program.close()
    for (const { group, episodes } of found) written.set(group, episodes)
    tests.postgresql = await testApp()
    tests.neo4j = await testApp({ KP_GRAPH_URL: url })
  }, 600_000)
  afterAll(async () => {
    await Promise.all([driver?.close(), planting?.close(), tests.postgresql?.close(), tests.neo4j?.close()])
  })

  async function dump(store: 'postgresql' | 'neo4j', group: string): Promise<Raw[]> {
    if (store === 'neo4j') {
      const { records } = await driver.executeQuery(
        `MATCH (n) WHERE n.group_id = $group RETURN labels(n) AS of, properties(n) AS p
         UNION ALL MATCH (a)-[r]->() WHERE a.group_id = $group OR r.group_id = $group RETURN [type(r)] AS of, properties(r) AS p`,
        { group },
      )
      return records.map((record) => rawOf(record.get('of').join(':'), record.get('p')))
    }
    const found: Raw[] = []
    for (const table of ['episodes', 'entities', 'facts', 'gatherings', 'mentions', 'links']) {
      const rows = await tests.postgresql?.db.query<{ row: Record<string, unknown> }>(
        undefined,
        `SELECT to_jsonb(t) AS row FROM graph_${table} t WHERE group_id = $1`,
        [group],
      )
      found.push(...(rows ?? []).map(({ row }) => rawOf(table, row)))
    }
    return found
  }
  const isEpisode = ({ kind }: Raw) => kind === 'episodes' || kind.includes('Episodic')

  /** Creates the project of a case, with its people, messages and provenance. */
  async function made(test: TestApp, { group, provenance }: Case) {
    // Nobody else has the name of the person: otherwise the name identifies neither.
    await test.db.prisma.account.updateMany({ where: { name: patient }, data: { name: 'Anna Ander' } })
    const project = await madeProject(test)
    const person = await madeMember(test, project)
    await test.db.prisma.account.update({ where: { id: person.accountId }, data: { name: patient } })
    await test.db.prisma.project.update({ where: { id: project.id }, data: { groupId: group } })
    const conversations = [await madeConversation(test, project), await madeConversation(test, project)]
    const askers = { patient: person, owner: project.owner, agent: project.agent }
    const messages: MadeMessage[] = []
    for (const [who, n, content] of talk) {
      const conversation = conversations[n]
      if (!conversation) throw new Error('no conversation')
      messages.push(
        await madeMessage(test, conversation, askers[who], { content, role: who === 'agent' ? 'assistant' : 'user' }),
      )
    }
    for (const { uuid, messages: of } of written.get(group) ?? [])
      for (const [at, number] of of.map(Number).entries()) {
        const [who] = talk[number] ?? []
        // Half reported: only the answer of each turn, or every second single message.
        const isReported = provenance === 'reported' || (provenance === 'half reported' && (at + number) % 2 === 0)
        if (isReported && who !== undefined)
          await reported(test, project, askers[who], [
            { source_id: messages[number]?.id ?? '', store: 'graph', ref: uuid },
          ])
      }
    return { project, person, conversations, messages }
  }

  /** Erases, and returns the erased messages and the receipt. */
  async function erase(
    test: TestApp,
    scope: Scope,
    { project, person, conversations, messages }: Awaited<ReturnType<typeof made>>,
  ) {
    const of = (keep: (who: string, conversation: number) => boolean) =>
      talk.flatMap(([who, conversation], at) => (keep(who, conversation) ? [at] : []))
    if (scope === 'message')
      return { gone: [0], receiptId: await eraseWholeProject(test, messages[0]?.path ?? '', person as Person) }
    if (scope === 'conversation')
      return {
        gone: of((_, conversation) => conversation === 0),
        receiptId: await eraseWholeProject(test, conversations[0]?.path ?? '', project.owner),
      }
    if (scope === 'person') {
      const { runId } = await test.db.transaction((tx) =>
        test.app.subjectErasures.begin(tx, {
          requestId: null,
          subject: { account: person.accountId, agents: [] },
          requestedBy: 'user:test',
          reason: 'gdpr_erasure',
          now: test.clock.now(),
        }),
      )
      await drain(test)
      const run = await test.app.subjectErasures.run(runId)
      expect(run?.state).toBe('done')
      return { gone: of((who) => who === 'patient'), receiptId: run?.receiptId ?? '' }
    }
    return { gone: of(() => true), receiptId: await closed(test, project) }
  }
  async function closed(test: TestApp, project: MadeProject): Promise<string> {
    await dataOf(test, 'POST', `${project.path}/close`, project.owner, { body: {} })
    test.clock.advance(31 * 24 * 3_600_000)
    await test.app.jobs.find(({ name }) => name === 'projects.close')?.execute(test.app.pipeline, {})
    await drain(test)
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({
      where: { projectId: project.id, partKind: 'project' },
    })
    expect(run.state).toBe('done')
    return run.receiptId
  }

  async function check(store: 'postgresql' | 'neo4j', one: Case) {
    const test = tests[store]
    if (!test) throw new Error('no application')
    const { scope, group, mode } = one
    if (store === 'postgresql') await postgresPlanting(test.db).plant(await planting.standing(group))
    const before = await dump(store, group)
    const things = await made(test, one)
    const { gone, receiptId } = await erase(test, scope, things)
    const after = await dump(store, group)
    const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`)

    if (scope === 'project') {
      expect(after).toEqual([])
      return
    }
    const textOf = (at: number) => talk[at]?.[2] ?? ''
    const remaining = talk.flatMap((_, at) => (gone.includes(at) ? [] : [at]))
    const allowed = new Set(remaining.flatMap((at) => runs(textOf(at))))
    const erasedRuns = gone.flatMap((at) => runs(textOf(at))).filter((run) => !allowed.has(run))
    const found = (raw: readonly Raw[]) =>
      raw.flatMap(({ kind, texts }) =>
        Object.entries(texts).flatMap(([key, text]) => {
          const words = ` ${folded(text).join(' ')} `
          return erasedRuns.some((run) => words.includes(` ${run} `)) ? [`${kind}.${key}: ${text}`] : []
        }),
      )
    expect(found(before).length, 'the words were there').toBeGreaterThan(2)
    expect(found(after)).toEqual([])

    // Episodes of other authors, and the other half of a turn, are unchanged. Assistants quote: the name of an erased person goes.
    const episodes = written.get(group) ?? []
    const contents = new Map(after.filter(isEpisode).map(({ id, texts }) => [id, texts]))
    const former = new Map(before.filter(isEpisode).map(({ id, texts }) => [id, texts]))
    const remainingText = (text: string | undefined) =>
      scope === 'person' ? text?.replaceAll(patient, '[erased]') : text
    let cut = 0
    for (const { uuid, messages } of episodes) {
      const own = messages.map(Number)
      const retained = own.filter((at) => !gone.includes(at))
      if (retained.length === 0) expect(contents.has(uuid)).toBe(false)
      else if (retained.length === own.length)
        for (const key of ['content', 'name', 'source_description', 'valid_at'])
          expect(contents.get(uuid)?.[key], key).toBe(remainingText(former.get(uuid)?.[key]))
      else {
        cut++
        expect(contents.get(uuid)?.content).toBe(
          remainingText(retained.map((at) => `${speakers[talk[at]?.[0] ?? 'agent']}: ${textOf(at)}`).join('\n')),
        )
      }
    }
    const derived = receipt.derived?.find(({ store: name }: { store: string }) => name === 'graph')
    expect(derived?.cut ?? 0).toBe(cut)
    expect(cut > 0).toBe(mode === 'turn' && scope !== 'conversation')
    if (mode === 'message' && scope === 'message') expect(receipt.exposed?.matched).toBeGreaterThan(0)

    // The node of the other person remains.
    const entities = after.filter(({ kind }) => kind === 'entities' || kind.includes('Entity'))
    if (scope === 'message') expect(entities.map(({ texts }) => texts.name)).toContain('Bert Beispiel')
    if (scope !== 'person') return
    const named = (raw: readonly Raw[]) =>
      raw.filter(({ texts }) => Object.values(texts).some((text) => text.toLowerCase().includes(patient.toLowerCase())))
    expect(named(after.filter((raw) => !isEpisode(raw)))).toEqual([])
    expect(named(after.filter(isEpisode))).toEqual([])
    // The answer of the agent is a message of its own, which remains with the name.
    expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 1 }])
  }

  const title = ({ mode, provenance, scope }: Case) => `${scope}, an episode per ${mode}, ${provenance}`
  for (const store of ['postgresql', 'neo4j'] as const)
    describe(store, () => {
      for (const one of cases)
        it(
          `has no erased words, and the receipt reports the remaining records: ${title(one)}`,
          () => check(store, one),
          120_000,
        )
    })
})
