// Sentences of an erased person that applications write after the erasure and before the complete reading, with LangGraph and Graphiti in
// Python. The complete reading erases them.
import neo4j, { type Driver } from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { drain } from '#lib/testing/jobs.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'

const own = 'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter'
const their = 'My neighbor repairs old violins in a shed behind the railway station every Thursday'
const words = own.split(' ')
const places =
  `string,key,two keys,key of a tuple,list,tuple,set,frozenset,deque,model,old model,case,pair,bytes,array,path,json,json in unicode,
repr,fields,message,call,send,metadata,key of metadata,write,key of a write,error,interrupt,item,key of an item,name of an item`.split(
    /,\s*/,
  )
const forms: Record<string, (text: string) => string> = {
  plain: (text) => text,
  upper: (text) => text.toUpperCase(),
  markup: (text) => text.replaceAll(/(\w+ \w+) /g, '$1<br/>'),
  url: (text) => encodeURIComponent(text),
  base64: (text) => Buffer.from(text).toString('base64'),
  lines: (text) => text.replaceAll(/(\w+ \w+ \w+) /g, '$1\n> '),
}
const letters = (text: string): string =>
  text
    .replaceAll(/[A-Za-z0-9+/]{60,}={0,2}/g, (some) => `${some} ${Buffer.from(some, 'base64').toString()}`)
    .replaceAll(/%[0-9A-F]{2}|<br\/>|\\n/gi, ' ')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
const runs = words.flatMap((_, at) => (at + 6 <= words.length ? [letters(words.slice(at, at + 6).join(' '))] : []))
const hasWords = (text: string): boolean => {
  const folded = letters(text)
  return runs.some((run) => folded.includes(run))
}

describe.skipIf(!isInstalled('python') || !isInstalled('neo4j'))('sentences written after the erasure', () => {
  let test: TestApp
  let threads: TestDatabase
  let python: PythonProgram
  let driver: Driver
  let graph: { url: string; port: number }
  let url: string
  beforeAll(async () => {
    threads = await testDatabase()
    url = threads.ownerUrl
    python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, z.null())
    await python.call('remember', { url, items: [] }, z.null())
    graph = await neo4jServer()
    const { username, password } = new URL(graph.url)
    driver = neo4j.driver(`bolt://127.0.0.1:${graph.port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    test = await testApp({ KP_CHECKPOINTS_URL: url, KP_GRAPH_URL: graph.url })
  }, 240_000)
  afterAll(async () => {
    await python?.close()
    await driver?.close()
    await test?.close()
    await threads?.drop()
  })

  /** Erases one of two people of a new project. */
  async function erased() {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, {}, project.agent)
    for (const [external_id, name, content] of [
      ['u-1', 'Rosalind Quennell', own],
      ['u-2', 'Otto Maier', their],
    ])
      await madeMessage(test, conversation, project.agent, { content, author: { external_id, name } })
    const [participant] = await dataOf(test, 'GET', `${project.path}/participants?external_id=u-1`, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    const path = `${project.path}/participants/${participant.id}/requests`
    const { id } = await dataOf(test, 'POST', path, project.owner, { body })
    await drain(test)
    const { state, receiptId } = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    expect(state).toBe('completed')
    return { project, conversation, receiptId }
  }
  const lineOf = async (receiptId: string | null, holder: string) => {
    const { complete_reading: reading } = (await test.fetch('GET', `/v1/receipts/${receiptId}`)).json
    return reading.stores.find((one: { holder: string }) => one.holder === holder)
  }

  it('by LangGraph in Python are erased from every kind of value', async () => {
    const all = places.flatMap((place) => Object.keys(forms).map((form) => ({ place, form })))
    const cases = sampled('late sentences in Python', all, 12).map((one) => ({
      ...one,
      mark: `m${crypto.randomUUID()}`,
    }))
    const { receiptId } = await erased()
    const threadCases: string[][] = []
    const items: [string[], string, Record<string, string>][] = []
    for (const { place, form, mark } of cases) {
      const written = forms[form]?.(own) ?? own
      if (!place.includes('item')) threadCases.push([`${mark}-thread`, place, written, `${their} ${mark}`])
      else {
        const value = { text: `${their} ${mark}`, ...(place === 'item' && { who: `${their} ${written}` }) }
        const named = place === 'key of an item' ? { [written]: `${their} ${mark}` } : value
        items.push([['memories', mark], place === 'name of an item' ? `${mark} ${written}` : mark, named])
      }
    }
    await python.call('write_named', { url, cases: threadCases }, z.null())
    await python.call('remember', { url, items }, z.null())
    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    const rows = Map.groupBy(await rowsOf(url), ([place]) => /^\S+ \d+ /.exec(place)?.[0] ?? place)
    const after = [...rows.values()].map((columns) => columns.map(([, text]) => text.replaceAll('\0', '')).join(' '))
    const left: string[] = []
    for (const { place, form, mark } of cases) {
      const text = after.filter((one) => one.includes(mark)).join('\n')
      if (hasWords(text)) left.push(`${place} ${form}`)
    }
    const line = await lineOf(receiptId, 'checkpoints.messages')
    expect(left).toEqual([])
    expect(line).toMatchObject({ left: 0 })
  }, 600_000)

  it.each(sampled('late sentences in Graphiti', ['message', 'turn', 'bulk'], 1))(
    'by Graphiti as %s are erased from the group of the project',
    async (mode) => {
      const { project, receiptId } = await erased()
      const group = newId('grp').toLowerCase()
      await test.db.prisma.project.update({ where: { id: project.id }, data: { groupId: group } })
      const { username, password } = new URL(graph.url)
      const program = pythonProgram('graphiti_writer.py')
      const shapes = [
        own,
        forms.markup?.(own) ?? '',
        forms.url?.(own) ?? '',
        forms.lines?.(own) ?? '',
        JSON.stringify({ said: own }),
      ]
      await program.call(
        'write',
        {
          uri: `bolt://127.0.0.1:${graph.port}`,
          user: username,
          password: decodeURIComponent(password),
          names: { 'Otto Maier': 1, 'Nordwind Werke': 2 },
          groups: [
            {
              group,
              mode,
              messages: [...shapes, their].map((text, at) => ({
                id: String(at),
                speaker: at < shapes.length ? 'someone' : 'Otto Maier',
                text: `Nordwind Werke wrote: ${text}`,
              })),
            },
          ],
        },
        z.array(z.unknown()),
      )
      await program.close()
      expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
      const { records } = await driver.executeQuery(
        `MATCH (n) WHERE n.group_id = $group RETURN properties(n) AS p
       UNION ALL MATCH (a)-[r]->() WHERE a.group_id = $group OR r.group_id = $group RETURN properties(r) AS p`,
        { group },
      )
      const texts = records.map((record) => JSON.stringify(record.get('p')))
      const line = await lineOf(receiptId, 'graph.episodes')
      const left = texts.filter(hasWords).length
      expect(left).toBe(0)
      expect(line).toMatchObject({ left: 0 })
      expect(texts.join('\n')).toContain(their)
    },
    600_000,
  )
})
