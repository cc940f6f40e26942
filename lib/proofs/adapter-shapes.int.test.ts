// What a person says in applications on LangGraph, in many shapes, is recorded by the adapters and gone after the erasure of the person.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  Annotation,
  Command,
  entrypoint,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtPython, builtTypeScript } from '#lib/testing/client-packages.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const timeout = 600_000
const name = 'Marta Kowalczyk'
const colors =
  'amber bronze copper denim ebony fuchsia garnet hazel indigo jade khaki lilac maroon navy ochre pearl quartz russet sable teal umber violet walnut zinc apricot'.split(
    ' ',
  )
const sentenceOf = (color: string): string =>
  `my ${color} suitcase with old family letters vanished behind that ${color} station kiosk in winter`

/** The words of a value without markup and encodings, by other means than the application's. */
function wordsOf(value: string): string {
  const decoded = [...value.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)].map(([text]) =>
    Buffer.from(text, 'base64').toString(),
  )
  return ` ${[value, ...decoded]
    .join(' ')
    .replaceAll(/<[^>]*>|&nbsp;|%20/g, ' ')
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, ' ')} `
}
/** The shapes of which a store contains words. */
async function remainingIn(urls: readonly string[], sentences: Readonly<Record<string, string>>): Promise<string[]> {
  const found = new Set<string>()
  for (const url of urls)
    for (const [place, value] of await rowsOf(url)) {
      const words = wordsOf(value)
      for (const [shape, sentence] of Object.entries(sentences)) {
        const [, color] = sentence.split(' ')
        if (words.includes(` ${color} suitcase `) || words.includes(` ${color} station `))
          found.add(`${shape} in ${place}`)
      }
    }
  return [...found]
}

/** A registry that answers late is asked again. */
const refusals = (problems: readonly string[]): string[] =>
  problems.filter((problem) => !problem.startsWith('RegistryUnreachable'))

describe('words of a person in an application on LangGraph', () => {
  let threads: TestDatabase
  let registry: TestApp
  let admin: Person
  let token: string
  let project: string
  let folder: string
  const closing: (() => Promise<unknown>)[] = []

  // The libraries of the two languages have long-term stores with the same table and different columns.
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kp-shapes-'))
    threads = await testDatabase()
    registry = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
    admin = await signedIn(registry, 'admin')
    token = (await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })).token
    const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: 'Support' } })
    project = json.data.id
  }, timeout)
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
    await registry?.close()
    await threads?.drop()
    rmSync(folder, { recursive: true, force: true })
  })
  async function erasePerson(): Promise<void> {
    const participants = `/api/projects/${project}/participants`
    const { json } = await registry.fetch('GET', `${participants}?external_id=marta`, { token })
    const { status } = await registry.fetch('POST', `${participants}/${json.data[0].id}/requests`, {
      cookie: admin.cookie,
      body: { kinds: ['erasure'], grace: 'now' },
    })
    expect(status).toBe(201)
    await drain(registry, { mayFail: true, except: ['privacy.clock'] })
  }
  /** Each shape is stored before the erasure, and none after it. The words of another person remain. */
  async function expectErased(sentences: Readonly<Record<string, string>>): Promise<void> {
    const before = await remainingIn([threads.ownerUrl], sentences)
    for (const shape of Object.keys(sentences))
      expect([shape, before.some((place) => place.startsWith(`${shape} in`))]).toEqual([shape, true])
    await erasePerson()
    expect(await remainingIn([threads.ownerUrl, registry.ownerUrl], sentences)).toEqual([])
    const others = [...(await rowsOf(threads.ownerUrl)).values()].filter((value) => value.includes('green folder'))
    expect(others.length).toBeGreaterThan(0)
  }

  it.skipIf(!isInstalled('python'))(
    'are erased in every shape in Python',
    async () => {
      const python = pythonProgram('recorded_shapes.py', { PYTHONPATH: await builtPython(folder) })
      const given = { url: registry.url, token, project, checkpoints: threads.ownerUrl, colors }
      const Said = z.object({ sentences: z.record(z.string(), z.string()), problems: z.array(z.string()) })
      const { sentences, problems } = await python.call('run', given, Said).finally(() => python.close())
      expect(refusals(problems)).toEqual([])
      expect(Object.keys(sentences)).toHaveLength(colors.length)
      await expectErased(sentences)
    },
    timeout,
  )

  it.skipIf(!isInstalled('openapi'))(
    'are erased in every shape in TypeScript',
    async () => {
      const built = await builtTypeScript(folder)
      // The built modules: the compiler of this repository does not know them.
      const { KnowledgePulse }: ReturnType<typeof JSON.parse> = await built.load('index.js')
      const { Recorder, recordedStore }: ReturnType<typeof JSON.parse> = await built.load('langgraph.js')
      const problems: string[] = []
      const recorder = new Recorder({
        client: new KnowledgePulse({ url: registry.url, token }),
        project,
        author: ({ configurable }: RunnableConfig) => configurable?.person,
        onProblem: (error: unknown) => void problems.push(String(error)),
      })
      const inner = PostgresSaver.fromConnString(threads.ownerUrl)
      closing.push(() => inner.end())
      await inner.setup()
      const memories = PostgresStore.fromConnString(threads.ownerUrl)
      closing.push(() => memories.stop())
      await memories.setup()
      const checkpointer: PostgresSaver = recorder.checkpoints(inner)
      const store: PostgresStore = recordedStore(memories, recorder)
      const at = (shape: string, person: object = { external_id: 'marta', name }) => ({
        configurable: { thread_id: `${project}-${shape}`, person },
      })
      const Listed = Annotation.Root({
        messages: Annotation<unknown[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
      })
      const Question = Annotation.Root({ question: Annotation<string>, answer: Annotation<unknown> })
      const answer = ({ messages }: { messages: BaseMessage[] }) => ({
        messages: [new AIMessage(`Noted for ${name}: ${messages.at(-1)?.text}`)],
      })
      const chat = new StateGraph(MessagesAnnotation)
        .addNode('answer', answer)
        .addEdge(START, 'answer')
        .compile({ checkpointer, store })
      const asking = new StateGraph(Question)
        .addNode('ask', () => ({ answer: interrupt({ ask: `What happened, ${name}?` }) }))
        .addEdge(START, 'ask')
        .compile({ checkpointer })
      const resumed = (value: (text: string) => unknown) => async (shape: string, text: string) => {
        await asking.invoke({ question: 'What happened?' }, at(shape))
        await asking.invoke(new Command({ resume: value(text) }), at(shape))
      }
      const shapes: Record<string, (shape: string, text: string) => Promise<unknown>> = {
        text: (shape, text) => chat.invoke({ messages: [new HumanMessage(`${name} says ${text}`)] }, at(shape)),
        html: (shape, text) =>
          chat.invoke({ messages: [new HumanMessage(`<p>${text.replaceAll(' ', ' <br>&nbsp;')}</p>`)] }, at(shape)),
        json: (shape, text) =>
          chat.invoke(
            { messages: [new HumanMessage(JSON.stringify(JSON.stringify({ name, text: `"${text}"` })))] },
            at(shape),
          ),
        blocks: (shape, text) =>
          chat.invoke({ messages: [new HumanMessage({ content: [{ type: 'text', text }] })] }, at(shape)),
        'without-ids': (shape, text) =>
          new StateGraph(Listed)
            .addNode('answer', () => ({ messages: [new AIMessage(`${name}'s words: ${text}`)] }))
            .addEdge(START, 'answer')
            .compile({ checkpointer })
            .invoke({ messages: [new HumanMessage(text)] }, at(shape)),
        dictionaries: (shape, text) =>
          new StateGraph(Listed)
            .addNode('answer', () => ({ messages: [{ role: 'assistant', content: `ok ${text}` }] }))
            .addEdge(START, 'answer')
            .compile({ checkpointer })
            .invoke({ messages: [{ role: 'user', content: text }] }, at(shape)),
        question: (shape, text) =>
          new StateGraph(Question)
            .addNode('reply', ({ question }) => ({ answer: `${name}: ${question}` }))
            .addEdge(START, 'reply')
            .compile({ checkpointer })
            .invoke({ question: text }, at(shape)),
        'resumed-text': resumed((text) => text),
        'resumed-form': resumed((text) => ({ type: 'edit', args: { reason: text } })),
        functional: (shape, text) =>
          entrypoint({ name: 'flow', checkpointer }, async (said: string) => `${name} ${said}`).invoke(text, at(shape)),
        'functional-messages': (shape, text) =>
          entrypoint({ name: 'flow', checkpointer }, async (said: BaseMessage) =>
            entrypoint.final({ value: 'ok', save: [said] }),
          ).invoke(new HumanMessage(text), at(shape)),
        'names-in-store': (shape, text) =>
          new StateGraph(MessagesAnnotation)
            .addNode('remember', async (_, { store: own }) => {
              await own?.put(['users', name], `profile of ${name}`, { says: text, html: text.replaceAll(' ', '<br>') })
              return {}
            })
            .addEdge(START, 'remember')
            .compile({ checkpointer, store })
            .invoke({ messages: [new HumanMessage(text)] }, at(shape)),
        sent: (shape, text) =>
          new StateGraph(MessagesAnnotation)
            .addNode('work', (state) => ({ messages: [new AIMessage(String(Reflect.get(state, 'x')))] }))
            .addConditionalEdges(START, ({ messages }) => [new Send('work', { x: `${name} ${messages[0]?.text}` })], [
              'work',
            ])
            .compile({ checkpointer })
            .invoke({ messages: [new HumanMessage(text)] }, at(shape)),
        subgraph: (shape, text) =>
          new StateGraph(MessagesAnnotation)
            .addNode(
              'inner',
              new StateGraph(MessagesAnnotation)
                .addNode('answer', answer)
                .addEdge(START, 'answer')
                .compile({ checkpointer: true }),
            )
            .addEdge(START, 'inner')
            .compile({ checkpointer })
            .invoke({ messages: [new HumanMessage(text)] }, at(shape)),
        streamed: async (shape, text) =>
          Array.fromAsync(
            await chat.stream(
              { messages: [new HumanMessage(text)] },
              { ...at(shape), streamMode: ['updates', 'messages'] },
            ),
          ),
        'other-thread': async (shape, text) => {
          await chat.invoke({ messages: [new HumanMessage(text)] }, at(shape))
          await new StateGraph(MessagesAnnotation)
            .addNode('quote', () => ({ messages: [new AIMessage(`As ${name} said: ${text}`)] }))
            .addEdge(START, 'quote')
            .compile({ checkpointer })
            .invoke({ messages: [new HumanMessage('What did I say?')] }, at(`${shape}-2`))
        },
      }
      const sentences: Record<string, string> = {}
      for (const [n, [shape, say]] of Object.entries(shapes).entries()) {
        const text = sentenceOf(colors[n] ?? '')
        sentences[shape] = text
        await say(shape, text)
      }
      const others = 'The green folder stays in the cellar until the first of May comes again.'
      await chat.invoke(
        { messages: [new HumanMessage(others)] },
        at('of-other', { external_id: 'otto', name: 'Otto Brandt' }),
      )
      await recorder.close()
      expect(refusals(problems)).toEqual([])
      await expectErased(sentences)
    },
    timeout,
  )
})
