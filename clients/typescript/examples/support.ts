/**
 * A support agent: LangGraph keeps the conversation, Graphiti the facts, Redis the answers, a bucket the transcripts.
 *
 * The five lines marked `connect` are all that it needs, so that an erasure finds what it stored about a person.
 */
import type { KnowledgePulse } from '@knowledgepulse/client'
import { RecordedGraphiti } from '@knowledgepulse/client/graphiti'
import { Recorder, type ThreadAuthor } from '@knowledgepulse/client/langgraph'
import { type Bucket, RecordedUploads } from '@knowledgepulse/client/objects'
import { RecordedCache, type RedisClient } from '@knowledgepulse/client/redis'
import { AIMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'

interface Stores {
  saver: BaseCheckpointSaver
  /** The address of Graphiti's REST service. */
  graphiti: string
  redis: RedisClient
  bucket: Bucket
}

export function application(
  kp: KnowledgePulse,
  project: string,
  { saver, graphiti, redis, bucket }: Stores,
  model: (question: string) => Promise<string>,
) {
  const author = (config: { configurable?: Record<string, unknown> }) => config.configurable?.person as ThreadAuthor
  const recorder = new Recorder({ client: kp, project, author }) // connect
  const checkpointer = recorder.checkpoints(saver) // connect
  const graph = new RecordedGraphiti(recorder, { url: graphiti }) // connect
  const cache = new RecordedCache(redis, recorder) // connect
  const files = new RecordedUploads(bucket, recorder) // connect

  const agent = new StateGraph(MessagesAnnotation)
    .addNode('answer', async ({ messages }) => {
      const question = messages.at(-1)?.text ?? ''
      const answer = (await cache.get(question)) ?? (await model(question))
      await cache.set(question, answer, { ttl: 3600 })
      return { messages: [new AIMessage(answer)] }
    })
    .addNode('remember', async ({ messages }) => {
      const [question, answer] = messages.slice(-2).map(({ text }) => text)
      await graph.addMessages([
        { role_type: 'user', role: 'user', content: question ?? '' },
        { role_type: 'assistant', role: 'assistant', content: answer ?? '' },
      ])
      await files.upload('transcript.txt', `user: ${question}\nassistant: ${answer}\n`, { contentType: 'text/plain' })
      return {}
    })
    .addEdge(START, 'answer')
    .addEdge('answer', 'remember')
    .compile({ checkpointer })
  return { agent, recorder, cache, files, graph }
}
