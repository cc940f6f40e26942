// The name of an erased person alone in threads and items of LangGraph in Python that nobody reported: in every kind of value that its serializer
// knows, in keys, metadata, pending writes, paths of tasks and namespaces, in many forms, beside words of others.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { drain } from '#lib/testing/jobs.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const values = `string,key,two keys,key of a tuple,list,tuple,set,frozenset,deque,model,old model,case,pair,bytes,array,path,json,json in unicode,
repr,fields,message,call,send,metadata,key of metadata,write,key of a write,error,interrupt,item,key of an item,name of an item,space of an item`
const places = values.split(/,\s*/)
/** An item of the long-term store under the name of a person is about that person. An array is emptied. */
const deletedPlaces = new Set(['array', 'name of an item', 'space of an item'])
/** What identifies a row. A person decides whether the thread is deleted. */
const structure = ['channel', 'namespace', 'channel of a write', 'path of a task', 'id of a task']
const forms: Record<string, (name: string) => string> = {
  plain: (name) => name,
  upper: (name) => name.toUpperCase(),
  decomposed: (name) => name.normalize('NFD'),
  wide: (name) => name.replaceAll(/[!-~]/g, (one) => String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0)),
  space: (name) => name.replace(' ', '\u00a0'),
  hyphen: (name) => name.replace(/(?<=.{4})/, '\u00ad'),
  joiner: (name) => name.replace(' ', ' \u200b'),
  reverse: (name) => name.replace(/(.*) (.*)/, '$2, $1'),
  plainer: (name) => name.normalize('NFD').replaceAll(/\p{M}/gu, ''),
}
const people = ['Iréné Zürbriggen', 'Łukasz Żółwiński', 'Дарья Снегирёва', 'Ευγενία Παπαδοπούλου']
const letters = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()

describe.skipIf(!isInstalled('python'))('names of an erased person in threads of LangGraph in Python', () => {
  let test: TestApp
  let threads: TestDatabase
  let python: PythonProgram
  let url: string
  beforeAll(async () => {
    threads = await testDatabase()
    url = threads.ownerUrl
    python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, z.null())
    await python.call('remember', { url, items: [] }, z.null())
    test = await testApp({ KP_CHECKPOINTS_URL: url })
  })
  afterAll(async () => {
    await python?.close()
    await test?.close()
    await threads?.drop()
  })

  /** Erases the only participant of a new project. Returns their request. */
  async function erased(name: string, prepare: () => Promise<unknown>) {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, {}, project.agent)
    const content = `Nothing but this sentence about ${project.id} was said.`
    await madeMessage(test, conversation, project.agent, { content, author: { external_id: 'u-1', name } })
    await prepare()
    const [participant] = await dataOf(test, 'GET', `${project.path}/participants?external_id=u-1`, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    const path = `${project.path}/participants/${participant.id}/requests`
    const { id } = await dataOf(test, 'POST', path, project.owner, { body })
    await drain(test)
    return test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
  }

  it.each(people)(
    '%s is erased from every place, and no word of others',
    async (name) => {
      const all = places.flatMap((place) => Object.keys(forms).map((form) => ({ place, form })))
      const cases = sampled(`names in Python ${name}`, all, 24).map((one, n) => ({
        ...one,
        mark: `m${crypto.randomUUID()}`,
        other: `The committee ${n} of harbor ${people.indexOf(name)} meets on Tuesday`,
      }))
      const threadCases: string[][] = []
      const items: [string[], string, Record<string, string>][] = []
      for (const { place, form, mark, other } of cases) {
        const written = forms[form]?.(name) ?? name
        if (!place.includes('item')) {
          threadCases.push([`${mark}-thread`, place, written, `${other} ${mark}`])
          continue
        }
        const value = { text: `${other} ${mark}`, ...(place === 'item' && { who: `${other} ${written}` }) }
        const named = place === 'key of an item' ? { [written]: `${other} ${mark}` } : value
        const space = place === 'space of an item' ? ['memories', written, mark] : ['memories', mark]
        items.push([space, place === 'name of an item' ? `${mark} ${written}` : mark, named])
      }
      const { state, receiptId } = await erased(name, async () => {
        await python.call('write_named', { url, cases: threadCases }, z.null())
        await python.call('remember', { url, items }, z.null())
      })
      expect(state).toBe('completed')
      expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
      const rows = Map.groupBy(await rowsOf(url), ([place]) => /^\S+ \d+ /.exec(place)?.[0] ?? place)
      const after = [...rows.values()].map((columns) => columns.map(([, text]) => text.replaceAll('\0', '')).join(' '))
      const [first = '', last = ''] = name.split(' ').map(letters)
      const left: string[] = []
      const lost: string[] = []
      for (const { place, form, mark, other } of cases) {
        const own = after.filter((one) => one.includes(mark))
        const text = letters(own.join('\n'))
        if (text.includes(last) || text.includes(first)) left.push(`${place} ${form}`)
        if (!text.includes(letters(other)) && !deletedPlaces.has(place)) lost.push(`${place} ${form}`)
      }
      expect({ left, lost }).toEqual({ left: [], lost: [] })
      const { stores } = (await test.fetch('GET', `/v1/receipts/${receiptId}`)).json
      expect(stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
    },
    600_000,
  )

  it('waits for a decision about each thread whose rows are identified by the name', async () => {
    const cases = structure.map((place) => ({ place, thread: `${crypto.randomUUID()}-thread` }))
    const { state } = await erased('Marlis Ödegaard', () =>
      python.call(
        'write_named',
        { url, cases: cases.map(({ place, thread }) => [thread, place, 'Marlis Ödegaard', 'Others']) },
        z.null(),
      ),
    )
    expect(state).toBe('running')
    const pages = await test.db.prisma.erasurePage.findMany({ where: { holder: 'checkpoints.threads' } })
    const undecided = pages.flatMap(({ items }) => items)
    expect(undecided.toSorted()).toEqual(cases.map(({ thread }) => `${thread}/?`).toSorted())
  }, 120_000)
})
