import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  DeltaChannel,
  interrupt,
  MessagesAnnotation,
  messagesDeltaReducer,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import type { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { z } from 'zod'

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  summary: Annotation<string>({ reducer: (_, later) => later, default: () => '' }),
  last: Annotation<BaseMessage | null>({ reducer: (_, later) => later, default: () => null }),
  bytes: Annotation<Uint8Array>({ reducer: (_, later) => later, default: () => new Uint8Array() }),
  minutes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  seen: Annotation<Map<string, string>>({ reducer: (a, b) => new Map([...a, ...b]), default: () => new Map() }),
})
type Values = typeof State.State
const idOf = (message: BaseMessage | undefined) => message?.id ?? 'none'
const textOf = (message: BaseMessage | undefined) => String(message?.content ?? '')

/**
 * A typical application: it calls a tool with the message, sends the tool's call to a node, has a subgraph with its own state reflect on
 * it, writes a summary, and asks a person before it answers. It uses no model: its outputs are derived from its inputs.
 */
export function assistant(checkpointer: PostgresSaver) {
  const reflection = new StateGraph(State)
    .addNode('reflect', ({ messages }: Values) => ({
      messages: [new AIMessage({ id: `thought-about-${idOf(messages.at(-1))}`, content: 'It was reflected upon.' })],
      summary: `Reflection on: ${textOf(messages[0])}`,
    }))
    .addEdge(START, 'reflect')
    .compile()
  return (
    new StateGraph(State)
      .addNode('agent', ({ messages }: Values) => {
        const said = messages.at(-1)
        return {
          messages: [
            new AIMessage({
              id: `call-for-${idOf(said)}`,
              content: '',
              tool_calls: [
                { id: `tool-of-${idOf(said)}`, name: 'look_up', args: { question: textOf(said) }, type: 'tool_call' },
              ],
              additional_kwargs: {
                tool_calls: [
                  {
                    id: `tool-of-${idOf(said)}`,
                    type: 'function',
                    function: { name: 'look_up', arguments: JSON.stringify({ question: textOf(said) }) },
                  },
                ],
              },
            }),
          ],
          last: said ?? null,
          bytes: new TextEncoder().encode(`seen: ${textOf(said)}`),
          seen: new Map([[idOf(said), textOf(said)]]),
        }
      })
      .addNode('tools', ({ call, said }: { call: { id: string }; said: string }) => ({
        messages: [new ToolMessage({ id: `result-${call.id}`, tool_call_id: call.id, content: `Found: ${said}` })],
      }))
      .addNode('inner', reflection)
      // Runs in parallel to the node that asks: its result is a pending write until the answer arrives.
      .addNode('keepMinutes', ({ messages }: Values) => ({ minutes: [`minutes of ${textOf(messages.at(0))}`] }))
      .addNode('answer', ({ messages }: Values) => {
        const summary = `They said: ${messages.map(textOf).join(' / ')}`
        const approved = z.string().parse(interrupt({ ask: 'May I answer?', about: textOf(messages[0]) }))
        return {
          messages: [new AIMessage({ id: `answer-${messages.length}`, content: `Done (${approved}).` })],
          summary,
        }
      })
      .addEdge(START, 'agent')
      .addConditionalEdges('agent', ({ messages }: Values) => {
        const [call] = messages.flatMap((one) => (one instanceof AIMessage ? (one.tool_calls ?? []) : [])).slice(-1)
        return [new Send('tools', { call, said: String(call?.args.question) })]
      })
      .addEdge('tools', 'inner')
      .addEdge('inner', 'answer')
      .addEdge('inner', 'keepMinutes')
      .compile({ checkpointer })
  )
}
export type Assistant = ReturnType<typeof assistant>

/** An application whose checkpoints contain a snapshot of every third change; the rest is replayed from the writes. */
export function echo(checkpointer: PostgresSaver) {
  type Write = Parameters<typeof messagesDeltaReducer>[1][number]
  const Delta = Annotation.Root({
    messages: () => new DeltaChannel<BaseMessage[], Write>(messagesDeltaReducer, { snapshotFrequency: 3 }),
  })
  return new StateGraph(Delta)
    .addNode('echo', ({ messages }: { messages: BaseMessage[] }) => {
      const said = messages.findLast((message) => message.getType() === 'human')
      return { messages: [new AIMessage({ id: `echo-of-${idOf(said)}`, content: `You said: ${textOf(said)}` })] }
    })
    .addEdge(START, 'echo')
    .compile({ checkpointer })
}
export type Echo = ReturnType<typeof echo>

const on = (thread: string) => ({ configurable: { thread_id: thread } })

/** Sends a message and runs the application until it asks for approval. */
export const writeMessage = (app: Assistant | Echo, thread: string, id: string, text: string) =>
  app.invoke({ messages: [new HumanMessage({ id, content: text })] }, on(thread))
/** Gives the approval. */
export const approveTool = (app: Assistant, thread: string) => app.invoke(new Command({ resume: 'yes' }), on(thread))

/** Forks the thread at its oldest state with messages, and runs on from there. */
export async function fork(app: Assistant, thread: string, text: string): Promise<void> {
  const oldest = (await historyOf(app, thread)).findLast(({ values }) => values.messages?.length > 0)
  if (!oldest) throw new Error('The thread has no state with messages.')
  const config = await app.updateState(oldest.config, { minutes: [text] }, START)
  await app.invoke(null, config)
}

/** Every past state of the thread as the library reads it, newest first. */
export async function historyOf(app: Assistant | Echo, thread: string) {
  const states = []
  for await (const state of app.getStateHistory(on(thread))) states.push(state)
  return states
}
export const messagesOf = async (app: Assistant, thread: string): Promise<string[]> =>
  z
    .array(z.object({ id: z.string() }))
    .parse((await app.getState(on(thread))).values.messages)
    .map(({ id }) => id)
