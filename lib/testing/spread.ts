import { assistant, writeMessage } from '#lib/stores/checkpoints/suite/written-thread.ts'
import type { TestApp } from './app.ts'
import type { ConnectedStores } from './connected-stores.ts'
import { dealGraph, sentence } from './graphs.ts'
import {
  type MadeMessage,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeMessage,
  madeProject,
  reported,
} from './projects.ts'

export interface SpreadMessage {
  project: MadeProject
  message: MadeMessage
  /** Another message of the conversation, which must be kept together with its derived data. */
  other: MadeMessage
}

/**
 * A message with {@link sentence} in its own project, with derived data in every connected store: a thread with tools
 * and a subgraph, a long-term store item, an object with a newer version, three cache entries, and a deal in the
 * graph. `isPointed`: a pointer to the episode was reported; otherwise it is found by its words.
 */
export async function spreadMessage(
  app: TestApp,
  stores: ConnectedStores,
  { isPointed = true }: { isPointed?: boolean } = {},
): Promise<SpreadMessage> {
  const project = await madeProject(app)
  const conversation = await madeConversation(app, project)
  const message = await madeMessage(app, conversation, project.owner, { content: `${sentence}.` })
  const other = await madeMessage(app, conversation, project.owner, { content: 'The weather in the vault is fine.' })
  await madeAttachment(app, message, project.owner, { bytes: `Notes: ${sentence}` })
  await madeAttachment(app, other, project.owner, { bytes: 'Notes of the weather.' })
  const [{ object_key: key } = { object_key: '' }] = await app.db.query<{ object_key: string }>(
    undefined,
    'SELECT object_key FROM attachments WHERE message_id = $1',
    [message.id],
  )
  await stores.putObject(key, `Newer notes: ${sentence}`)
  const talk = assistant(stores.saver)
  await writeMessage(talk, conversation.id, message.id, `${sentence}.`)
  await writeMessage(talk, conversation.id, other.id, 'The weather in the vault is fine.')
  await stores.remember(['memories'], message.id, { text: sentence })
  const graph = dealGraph(project.groupId)
  await stores.planting.plant(graph)
  if (isPointed)
    await reported(app, project, project.owner, [{ source_id: message.id, store: 'graph', ref: graph.id('e1') }])
  const { cache } = app.app.stored
  await cache.set(`about-${message.id}`, sentence, { ttl: 3_600, about: [] })
  await cache.set(`answers:${conversation.id}`, sentence, { ttl: 3_600, about: [message.id] })
  await cache.set(`asked:${conversation.id}:${sentence}`, 'So they say.', { ttl: 3_600, about: [] })
  await cache.set(`of-others:${project.id}`, 'Something else.', { ttl: 3_600, about: [other.id] })
  return { project, message, other }
}
